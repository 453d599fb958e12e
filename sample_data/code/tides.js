// When the harbour gate may open.
const heights = { spring: 4.25, neap: 2.5 };

export function gateOpens(kind, draught = 1.8) {
  return (heights[kind] ?? 0) - 0.5 > draught;
}

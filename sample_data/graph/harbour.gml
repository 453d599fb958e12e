graph [
  name "berths of a harbour"
  directed 0
  node [
    id 10
    label "North Pier"
    depth 4.5
    lamps 2
  ]
  node [
    id 20
    label "Fish Quay"
    depth 3.0
  ]
  node [
    id 30
    label "Slipway"
  ]
  edge [
    source 10
    target 20
    metres 120
  ]
  edge [
    source 20
    target 20
    metres 0
  ]
]

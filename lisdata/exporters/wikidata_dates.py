"""Wikibase's time values as xsd:dateTime, the way its RDF has them."""

from __future__ import annotations

import re

JULIAN = "http://www.wikidata.org/entity/Q1985786"
_YEAR, _MONTH, _DAY = 9, 10, 11  # precisions
_TIME = re.compile(r"([+-])0*([0-9]*)-([0-9]+)-([0-9]+)T(.*)", re.DOTALL)
_JULIAN_YEARS = range(-4713, 1465073)  # what can be counted in days
_DAYS = (31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)


def to_date_time(time: str, precision: int, calendar: str) -> str | None:
    """Return the xsd:dateTime (1.1, where the year 1 BCE is 0000) of a time; None when there is none.

    Unknown months and days are the first; a day that its month does not have is the last. Dates of the Julian calendar
    become Gregorian where they name a day.
    """
    match = _TIME.fullmatch(time)
    if match is None or not match[2]:
        return None
    year, is_bce = int(match[2]), match[1] == "-"
    month, day = min(max(int(match[3]), 1), 12), max(int(match[4]), 1)
    signed = -year if is_bce else year
    if calendar == JULIAN and precision >= _DAY and signed in _JULIAN_YEARS:
        signed, month, day = _from_julian(signed + 1 if is_bce else signed, month, day)
        is_bce, year = signed < 0, abs(signed)
    else:
        month, day = (1 if precision < _MONTH else month), (1 if precision < _DAY else day)
        day = min(day, _days_in(month, -min(year, 4714) + 1 if is_bce else year))
        if is_bce and precision >= _YEAR:
            year -= 1
            is_bce = year > 0
    return f"{'-' if is_bce else ''}{year:04d}-{month:02d}-{day:02d}T{match[5]}"


def _days_in(month: int, year: int) -> int:
    """Return the days of a Gregorian month; the year counts from 0, which is 1 BCE."""
    is_leap = year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)
    return 29 if month == 2 and is_leap else _DAYS[month - 1]


def _from_julian(year: int, month: int, day: int) -> tuple[int, int, int]:
    """Return the Gregorian date of a Julian one, both with a year 0."""
    shift = (14 - month) // 12
    years, months = year + 4800 - shift, month + 12 * shift - 3
    days = day + (153 * months + 2) // 5 + 365 * years + years // 4 - 32083  # the Julian day number
    era = days + 32044
    century = (4 * era + 3) // 146097
    era -= 146097 * century // 4
    of_century = (4 * era + 3) // 1461
    era -= 1461 * of_century // 4
    found = (5 * era + 2) // 153
    return (
        100 * century + of_century - 4800 + found // 10,
        found + 3 - 12 * (found // 10),
        era - (153 * found + 2) // 5 + 1,
    )

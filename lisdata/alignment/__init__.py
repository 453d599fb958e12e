"""What datasets share and where they differ: `same_as` tables, contents that meet, audits."""

from lisdata.alignment.audit import audit
from lisdata.alignment.audit_report import AuditReport, LevelReport
from lisdata.alignment.matches import SameAsMatches, count_matches
from lisdata.alignment.meeting import Meeting, MeetingReport, find_meetings
from lisdata.alignment.same_as import collect_same_as, write_same_as

__all__ = [
    "AuditReport",
    "LevelReport",
    "Meeting",
    "MeetingReport",
    "SameAsMatches",
    "audit",
    "collect_same_as",
    "count_matches",
    "find_meetings",
    "write_same_as",
]

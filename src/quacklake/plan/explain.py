"""A plan in words."""

from __future__ import annotations

from quacklake.plan.scan import ScanPlan


def explain(plan: ScanPlan) -> str:
    """The plan for people: what is read, what is not, and why."""
    report = plan.report
    dead = sum(file.has_deletes for file in plan.files)
    rows = sum(file.record_count for file in plan.files)
    size = sum(file.size or 0 for file in plan.files)
    left = report.files_total - report.files_kept
    lines = [
        f"scan {plan.table} at snapshot {plan.snapshot_id}",
        f"  columns: {', '.join(plan.output_names) or 'none'}",
        f"  files: {report.files_kept} of {report.files_total}, {rows} rows, {size} bytes",
    ]
    if plan.where is not None:
        lines.append(f"  where: {plan.where.text}")
        if report.conditions:
            tests = ", ".join(dict.fromkeys(report.conditions))
            lines.append(f"  left out in the catalog: {left} files, by statistics and partition values for {tests}")
        for part in report.ignored:
            lines.append(f"  leaves out no file: {part}")
    if dead:
        lines.append(f"  files with deleted rows: {dead}")
    inlined = sum(part.data.num_rows for part in plan.inlined)
    if inlined:
        lines.append(f"  rows in the catalog itself: {inlined}")
    if plan.limit is not None:
        lines.append(f"  limit: {plan.limit}")
    return "\n".join(lines)

import type { ScanReport } from "@switchyard/contracts/skill-importer/skill-scan";

/** The scanner's report on one definition, as lines for a person. */
export function scanLines(name: string, scan: ScanReport): string[] {
  return [`${scan.verdict}  ${name}`, ...findingLines(scan)];
}

/** The findings alone, for a list that has a line of its own for each definition. */
export function findingLines(scan: ScanReport): string[] {
  return [
    ...scan.findings.map(({ severity, owasp, code, line, message, ...finding }) => {
      const place = line === null ? finding.file : `${finding.file}:${line}`;
      return `  ${severity} ${owasp} ${code} ${place}: ${message}`;
    }),
    ...(scan.leftOut === 0 ? [] : [`  and ${scan.leftOut} more findings`]),
    ...scan.suppressed.map(
      ({ finding, reason }) => `  accepted ${finding.code} ${finding.file}: ${reason}`,
    ),
    ...scan.idleSuppressions.map(
      ({ suppression, why }) => `  idle suppression of ${suppression.code}: ${why}`,
    ),
    ...scan.unscanned.map((part) => `  not scanned ${part.file}: ${part.message}`),
  ];
}

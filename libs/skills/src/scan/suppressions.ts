import type {
  ScanFinding,
  ScanReport,
  ScanSuppression,
} from "@switchyard/contracts/skill-importer/skill-scan";

type Split = Pick<ScanReport, "suppressed" | "idleSuppressions"> & { readonly kept: ScanFinding[] };

/** Removes accepted findings, and reports for every suppression without effect the reason. */
export function applySuppressions(
  findings: readonly ScanFinding[],
  {
    suppressions,
    digest,
    now,
  }: { suppressions: readonly ScanSuppression[]; digest: string; now: Date },
): Split {
  const inForce = suppressions.filter((suppression) => !isExpired(suppression, now));
  const used = new Set<ScanSuppression>();
  const kept: ScanFinding[] = [];
  const suppressed: ScanReport["suppressed"] = [];
  for (const finding of findings) {
    const accepted = inForce.filter((suppression) => accepts(suppression, finding, digest));
    for (const suppression of accepted) used.add(suppression);
    const [first] = accepted;
    if (first === undefined) kept.push(finding);
    else suppressed.push({ finding, reason: first.reason });
  }
  const idleSuppressions = suppressions.flatMap((suppression): ScanReport["idleSuppressions"] => {
    if (isExpired(suppression, now)) return [{ suppression, why: "expired" }];
    return used.has(suppression) ? [] : [{ suppression, why: "unused" }];
  });
  return { kept, suppressed, idleSuppressions };
}

/** Each given scope must match: a suppression by path alone would also accept what a later version adds. */
function accepts(suppression: ScanSuppression, finding: ScanFinding, digest: string): boolean {
  return (
    suppression.code === finding.code &&
    (suppression.digest === undefined || suppression.digest === digest) &&
    (suppression.path === undefined || suppression.path === finding.file)
  );
}

function isExpired({ expiresAt }: ScanSuppression, now: Date): boolean {
  return expiresAt !== undefined && Date.parse(expiresAt) <= now.getTime();
}

import { z } from "zod";

/**
 * The version that the change is meant for, as the caller read it, in a field `ifVersion`. Another one is refused with
 * `version_changed`, and nothing is changed. Left out: whatever is there. Over HTTP it is the `If-Match` of the request.
 */
export const IfVersion = z.string().min(1).max(128).optional();

/** `version` is what is there now; null when nothing is. */
export const versionChanged = { data: z.object({ version: z.string().nullable() }) } as const;

/** Of a change for one version, where there is another. */
export function changedMessage(what: string, version: string | null): string {
  const now = version === null ? "is not there any more" : `is at version ${version} by now`;
  return `${what} ${now}; nothing was changed: read it again`;
}

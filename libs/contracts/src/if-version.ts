import { z } from "zod";

/**
 * The version that the change is meant for, as the caller read it, in a field `ifVersion`. With any other version the change is refused
 * with `version_changed`, and nothing is changed. Left out, the change is for the current version, if any. Over HTTP it is the `If-Match`
 * of the request.
 */
export const IfVersion = z.string().min(1).max(128).optional();

/** `version` is the current one; null when there is none. */
export const versionChanged = { data: z.object({ version: z.string().nullable() }) } as const;

/** The message for a change for one version, where there is another. */
export function changedMessage(what: string, version: string | null): string {
  const now = version === null ? "is not there any more" : `is at version ${version}`;
  return `${what} ${now}; nothing was changed: read it again`;
}

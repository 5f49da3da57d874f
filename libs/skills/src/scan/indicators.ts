import { readFileSync } from "node:fs";
import { z } from "zod";
import { parseStrictly, readAtMost } from "./strict-file.ts";

/** A host name or address, with a path when only a part of the host is meant: `github.com/account`. */
const PlaceName = z
  .string()
  .max(256)
  .regex(
    /^(?:[a-z0-9-]{1,63}\.)+[a-z0-9-]{1,63}(?:\/[\w.~-]{1,100}){0,8}$/i,
    "is not a host name with an optional path; write it without a scheme, such as paste.example.org/a1b2",
  )
  .transform((name) => name.toLowerCase());
const HostName = PlaceName.refine((name) => !name.includes("/"), "must not have a path");
const Reason = z.string().trim().min(1).max(200);
const MAX_ENTRIES = 5_000;

const Indicators = z.strictObject({
  places: z
    .array(z.strictObject({ place: PlaceName, reason: Reason }))
    .max(MAX_ENTRIES)
    .default([]),
  files: z
    .array(
      z.strictObject({
        sha256: z
          .string()
          .regex(/^[0-9a-f]{64}$/i, "is not a SHA-256 in hex")
          .transform((digest) => digest.toLowerCase()),
        reason: Reason,
      }),
    )
    .max(MAX_ENTRIES)
    .default([]),
  pasteHosts: z.array(HostName).max(MAX_ENTRIES).default([]),
  catchHosts: z.array(HostName).max(MAX_ENTRIES).default([]),
  installerHosts: z.array(HostName).max(MAX_ENTRIES).default([]),
});
/** Known bad hosts and files. The data is plain, so that it can be sent to a thread. */
export type Indicators = z.infer<typeof Indicators>;

const MAX_BYTES = 1024 * 1024;
const BUILT_IN = new URL("./indicators.yaml", import.meta.url);

/** The indicators that are shipped with the scanner. */
export const INDICATORS: Indicators = parseIndicators(
  readFileSync(BUILT_IN, "utf8"),
  "indicators.yaml",
);

/** Reads the operator's file; none without a path. Rejects for the smallest mistake, naming it. */
export async function readIndicators(path: string): Promise<Indicators | null> {
  return path === "" ? null : parseIndicators(await readAtMost(path, MAX_BYTES), path);
}

/** Parses like {@link readIndicators}; `path` is for messages. */
export function parseIndicators(text: string, path: string): Indicators {
  return parseStrictly(Indicators, text, path);
}

/** Both lists as one. */
export function joinedIndicators(one: Indicators, other: Indicators): Indicators {
  return {
    places: [...one.places, ...other.places],
    files: [...one.files, ...other.files],
    pasteHosts: [...one.pasteHosts, ...other.pasteHosts],
    catchHosts: [...one.catchHosts, ...other.catchHosts],
    installerHosts: [...one.installerHosts, ...other.installerHosts],
  };
}

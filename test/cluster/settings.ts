import { homedir } from "node:os";
import { isAbsolute, join, resolve } from "node:path";
import { parseArgs } from "node:util";
import { fileURLToPath } from "node:url";

export const repository = fileURLToPath(new URL("../../", import.meta.url));

export const usage = `usage: npm run test:cluster -- [options]

  --cache DIR      what is built once: programs, Debian, images (~/.cache/switchyard-cluster)
  --only A,B       only these checks, by name; the cluster is installed in any case
  --nodes N        1 or 2 (2)
  --minutes N      everything ends after this time (60)
  --junit FILE     results as JUnit XML (test/cluster/.results.xml in the cache folder)
  --build          builds what the cache folder lacks, and starts nothing
  --reuse          starts with what the cache folder has, and builds nothing, not the image either
  --list           prints the names of the checks`;

export interface Settings {
  readonly cache: string;
  readonly only: ReadonlySet<string> | null;
  readonly nodes: 1 | 2;
  readonly minutes: number;
  readonly junit: string;
  readonly builds: boolean;
  readonly does: "run" | "build" | "list" | "help";
}

/** Reads the command line. Throws a `TypeError` for an option that does not exist or a value that does not fit. */
export function readSettings(args: readonly string[]): Settings {
  const { values } = parseArgs({
    args: [...args],
    options: {
      cache: { type: "string" },
      only: { type: "string" },
      nodes: { type: "string", default: "2" },
      minutes: { type: "string", default: "60" },
      junit: { type: "string" },
      build: { type: "boolean", default: false },
      reuse: { type: "boolean", default: false },
      list: { type: "boolean", default: false },
      help: { type: "boolean", default: false },
    },
  });
  const caches = process.env["XDG_CACHE_HOME"] ?? join(homedir(), ".cache");
  const cache = resolve(values.cache ?? join(caches, "switchyard-cluster"));
  const minutes = Number(values.minutes);
  if (!(minutes > 0)) throw new TypeError("--minutes: a number above 0");
  if (values.nodes !== "1" && values.nodes !== "2") throw new TypeError("--nodes: 1 or 2");
  if (!isAbsolute(cache) || /[\s:,]/.test(cache))
    throw new TypeError("--cache: a path without spaces, commas and colons, as mounts need it");
  return {
    cache,
    only: values.only === undefined ? null : new Set(values.only.split(",")),
    nodes: values.nodes === "1" ? 1 : 2,
    minutes,
    junit: resolve(values.junit ?? join(cache, "results.xml")),
    builds: !values.reuse,
    does: values.help ? "help" : values.list ? "list" : values.build ? "build" : "run",
  };
}

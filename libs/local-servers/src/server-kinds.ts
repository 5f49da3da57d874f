import { compareVersions } from "./version.ts";

export type ServerKindName = "nats" | "redis";

/** A program that is found on this machine, or unpacked from the packages of its distribution. */
export interface ProgramKind {
  name: string;
  /** Programs that will do, in order of preference, with the oldest version that is enough. */
  programs: readonly { program: string; minimum: string }[];
  /** `null` where macOS has no such program. */
  brewFormula: string | null;
  /** Debian packages: the first belongs to the program, the others are of the same source and required by it. */
  aptPackages: readonly string[];
  /** On Debian, take the package of sid: stable's is too old, and this program needs nothing but libc. */
  aptFromSid: boolean;
  /** The first package alone, without what it depends on: the program needs nothing but libc. A package of sid comes alone always. */
  aptAlone?: boolean;
  /** Shell text that the starter of the unpacked program runs before it sets LD_LIBRARY_PATH for it. */
  beforeLibraryPath?: string;
}

export interface ServerKind extends ProgramKind {
  name: ServerKindName;
  urlVariable: string;
  image: string;
  /** Port of a URL that names none. */
  defaultPort: number;
  /** Commands and pages for a person, one a line. */
  instructions: readonly string[];
}

export const SERVER_KINDS: Readonly<Record<ServerKindName, ServerKind>> = {
  nats: {
    name: "nats",
    programs: [{ program: "nats-server", minimum: "2.14.0" }],
    urlVariable: "YARD_NATS_URL",
    image: "nats:2.15-alpine",
    defaultPort: 4222,
    brewFormula: "nats-server",
    aptPackages: ["nats-server"],
    aptFromSid: true,
    instructions: [
      "macOS:    brew install nats-server",
      "Debian:   version 12 and 13 have an older nats-server; take the .deb of https://github.com/nats-io/nats-server/releases",
      "Docker:   docker pull nats:2.15-alpine",
      "others:   https://docs.nats.io/running-a-nats-service/introduction/installation, then name its directory in YARD_BIN_DIR",
    ],
  },
  redis: {
    name: "redis",
    programs: [
      { program: "redis-server", minimum: "7.0.0" },
      { program: "valkey-server", minimum: "7.2.0" },
    ],
    urlVariable: "YARD_REDIS_URL",
    image: "redis:7-alpine",
    defaultPort: 6379,
    brewFormula: "redis",
    aptPackages: ["redis-server", "redis-tools"],
    aptFromSid: false,
    instructions: [
      "macOS:    brew install redis",
      "Debian:   sudo apt-get install --no-install-recommends redis-server",
      "Docker:   docker pull redis:7-alpine",
      "others:   https://redis.io/docs/latest/operate/oss_and_stack/install/, then name its directory in YARD_BIN_DIR",
    ],
  },
};

/** The program of `kind` that a file or version text belongs to; the first one when the text does not show it. */
export function programOf(kind: ProgramKind, text: string): { program: string; minimum: string } {
  const product = kind.programs.find(({ program }) =>
    text.toLowerCase().includes(program.split("-")[0] ?? program),
  );
  const first = kind.programs[0];
  if (first === undefined) throw new Error(`${kind.name} names no program`);
  return product ?? first;
}

/** Compares by numbers, so that 2.14 is newer than 2.9. */
export function isRecentEnough(version: string, minimum: string): boolean {
  return compareVersions(version, minimum) >= 0;
}

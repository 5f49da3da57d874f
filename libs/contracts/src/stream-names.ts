import { publishedAs } from "./reserved-subjects.ts";

/** The names of the streams that `streams.ts` defines, which loads every contract for their subjects. */
export const STREAM_NAMES = {
  timers: "YARD_TIMERS",
  commands: "YARD_COMMANDS",
  facts: "YARD_FACTS",
  events: "YARD_EVENTS",
  audit: "YARD_AUDIT",
} as const;

const MIB = 1024 * 1024;
/** The quota of one client: commands that wait or are in progress. */
export const COMMAND_QUOTA = { messages: 10_000, bytes: 64 * MIB } as const;

const OWN_COMMANDS = new RegExp(`^${STREAM_NAMES.commands}_([a-z0-9][a-z0-9-]*)$`);

/** The client whose commands a stream stores; null for any other stream. */
export function ownerOfCommands(stream: string): string | null {
  return OWN_COMMANDS.exec(stream)?.[1] ?? null;
}

const BY_PREFIX: readonly (readonly [prefix: string, stream: string])[] = [
  ["yard.timer.", STREAM_NAMES.timers],
  ["yard.cmd.", STREAM_NAMES.commands],
  ["yard.evt.run.", STREAM_NAMES.events],
  ["yard.evt.", STREAM_NAMES.facts],
  [publishedAs("yard.evt.audit."), STREAM_NAMES.audit],
];

/** The stream that stores messages of a subject; null for a subject that none of them stores. */
export function streamTaking(subject: string): string | null {
  return BY_PREFIX.find(([prefix]) => subject.startsWith(prefix))?.[1] ?? null;
}

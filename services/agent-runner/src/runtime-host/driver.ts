import type { CliProcess } from "./cli-process.ts";
import type { HostEvent, HostStart } from "./host-protocol.ts";
import type { DoorEntry } from "./tool-door.ts";

/** What a driver of one kind of CLI is given. */
export interface DriverOptions {
  readonly start: HostStart;
  readonly door: DoorEntry;
  /** The directory of the CLI's own state, and an empty one in which it works. */
  readonly home: string;
  readonly work: string;
  /** The id of the session to go on with; null: a new one. */
  readonly session: string | null;
  readonly spawn: (
    args: readonly string[],
    env: Readonly<Record<string, string>>,
  ) => Promise<CliProcess>;
  readonly tell: (event: HostEvent) => void;
  /** Hears the id as soon as it is known. */
  readonly onSession: (id: string, isResumed: boolean) => Promise<void>;
}

/**
 * Starts a CLI, gives it the text, and tells what it says until its turn is over. Rejects with a DriverError, or with whatever
 * broke.
 */
export type Driver = (options: DriverOptions) => Promise<void>;

/** Why a CLI could not do its turn. */
export class DriverError extends Error {
  override readonly name = "DriverError";
  readonly isRetryable: boolean;

  constructor(message: string, isRetryable: boolean) {
    super(message);
    this.isRetryable = isRetryable;
  }
}

/** The text of a turn: CLIs take one that begins with a slash for a command of theirs. */
export function turnText(text: string): string {
  return text.startsWith("/") ? `Message:\n${text}` : text;
}

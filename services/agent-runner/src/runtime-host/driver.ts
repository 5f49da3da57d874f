import type { CliProcess } from "./cli-process.ts";
import type { HostEvent, HostStart } from "./host-protocol.ts";
import type { BridgeEntry } from "./tool-bridge.ts";

/** The options of a driver for one kind of CLI. */
export interface DriverOptions {
  readonly start: HostStart;
  readonly bridge: BridgeEntry;
  /** The directory of the CLI's own state, and an empty one in which it works. */
  readonly home: string;
  readonly work: string;
  /** The id of the session to resume; null: a new one. */
  readonly session: string | null;
  readonly spawn: (
    args: readonly string[],
    env: Readonly<Record<string, string>>,
  ) => Promise<CliProcess>;
  readonly report: (event: HostEvent) => void;
  /** Called with the id as soon as it is available. */
  readonly onSession: (id: string, isResumed: boolean) => Promise<void>;
}

/**
 * Starts a CLI, sends it the text, and publishes its output until its turn is over. Rejects with a DriverError, or with the error
 * of the failed part.
 */
export type Driver = (options: DriverOptions) => Promise<void>;

/** The reason why a CLI could not complete its turn. */
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

/** Receives the progress of a stack. */
export interface StackReport {
  /** Something is done: one line for each phase of a start or stop. */
  readonly step: (text: string) => void;
  /** Reports how something was found or chosen. */
  readonly detail: (text: string) => void;
  /** Something went wrong and is being dealt with. */
  readonly warn: (text: string) => void;
  /** One line of a service's output. */
  readonly output: (service: string, line: string) => void;
}

/** A process that runs continues; a later start may not find it. */
export function notRecorded(report: StackReport, name: string, error: unknown): void {
  report.warn(`${name} could not be recorded: ${messageOf(error)}`);
}

export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

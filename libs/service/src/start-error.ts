/** Process exit codes; `yard` documents the same numbers. */
export const EXIT_FAILED = 1;
export const EXIT_UNREACHABLE = 6;
/** Ended in order, to be started again: `EX_TEMPFAIL` of sysexits.h. Not 0, which a supervisor may take for done. */
export const EXIT_RESTART = 75;

/**
 * A start that failed for a reason outside the program: a wrong setting, a server that is down. It is reported in one line, without a
 * stack, and `hint` names a remedy.
 */
export class StartError extends Error {
  override readonly name: string = "StartError";
  readonly hint: string;
  readonly exitCode: number;

  constructor(
    message: string,
    options: { hint: string; exitCode?: number | undefined; cause?: unknown },
  ) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.hint = options.hint;
    this.exitCode = options.exitCode ?? EXIT_FAILED;
  }
}

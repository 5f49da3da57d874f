/** A CLI could not do its turn, and whether it may be asked again. */
export class RuntimeFailure extends Error {
  override readonly name = "RuntimeFailure";
  readonly isRetryable: boolean;

  constructor(message: string, isRetryable: boolean) {
    super(message);
    this.isRetryable = isRetryable;
  }
}

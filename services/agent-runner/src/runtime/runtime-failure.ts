/** A CLI could not complete its turn; `isRetryable` states whether a retry may help. */
export class RuntimeFailure extends Error {
  override readonly name = "RuntimeFailure";
  readonly isRetryable: boolean;

  constructor(message: string, isRetryable: boolean) {
    super(message);
    this.isRetryable = isRetryable;
  }
}

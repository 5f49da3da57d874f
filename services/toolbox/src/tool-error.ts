/** A call that cannot be executed as requested. Its message is for the model: what, where, and what to do instead. */
export class ToolError extends Error {
  override readonly name = "ToolError";
}

/** The code of a system error, such as `ENOENT`; null for any other error. */
export function systemErrorCode(error: unknown): string | null {
  return error instanceof Error && "code" in error && typeof error.code === "string"
    ? error.code
    : null;
}

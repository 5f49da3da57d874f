/** The exit code of a command, and its output. */
export interface YardResult {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

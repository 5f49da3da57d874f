import { yard, yardEnvironment } from "../../apps/cli/test-fixtures/yard-process.ts";

/** Runs one `yard` command against a running instance and returns what `--json` wrote. Rejects when it fails. */
export async function yardCommand(stateDir: string, ...args: string[]): Promise<unknown> {
  const { code, stdout, stderr } = await yard([...args, "--json"], yardEnvironment(stateDir));
  if (code !== 0) throw new Error(`yard ${args.join(" ")} ended with ${code}: ${stderr}`);
  return (JSON.parse(stdout) as { data: unknown }).data; // the envelope of every command
}

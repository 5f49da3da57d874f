import { setTimeout as delay } from "node:timers/promises";
import { runCommandLine } from "../src/command-line.ts";
import { END, type HostedCommand } from "./hosted-yard.ts";

// Runs commands of `yard` one after the other, each as `main.ts` runs one: loading the command line takes ten times as long as most commands.

const POLL_MS = 2;

process.on("message", (command: HostedCommand) => void run(command));
// Each command adds a listener for errors of its own.
for (const stream of [process.stdout, process.stderr]) stream.setMaxListeners(0);

async function run({ args, env, cwd }: HostedCommand): Promise<void> {
  for (const name of Object.keys(process.env)) if (!(name in env)) delete process.env[name];
  Object.assign(process.env, env);
  process.chdir(cwd);
  process.exitCode = undefined;
  await delay(POLL_MS);
  const before = process.getActiveResourcesInfo().length;
  try {
    await runCommandLine(args);
  } catch (error) {
    process.stderr.write(`${(error as Error).stack}\n`); // as Node prints an uncaught error
    process.exitCode = 1;
  }
  // A command that leaves something open would not end as a process, so it does not end here, until `runHosted` kills this process.
  do await delay(POLL_MS);
  while (process.getActiveResourcesInfo().length > before);
  process.send?.(process.exitCode ?? 0);
  for (const stream of [process.stdout, process.stderr]) stream.write(END);
}

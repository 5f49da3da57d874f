import { PASSED } from "./child-environment.ts";

/** What Node.js and libraries may read later. Settings of ours are read once, at the start. */
const READ_LATER = /^(?:NODE|OTEL|UV_THREADPOOL|NATS)_/;

/**
 * Takes the environment out of a process: returns all of it, and leaves there what programs and libraries read later. So the
 * secrets that entries of servers name are not where a child, a crash report or a library finds them. The kernel keeps the block
 * that the process was started with (`/proc/<pid>/environ`), for processes of the same user: hence the isolation of servers.
 */
export function takeEnvironment(
  env: NodeJS.ProcessEnv,
): Readonly<Record<string, string | undefined>> {
  const taken = { ...env };
  const stays = new Set(PASSED);
  for (const name of Object.keys(taken))
    if (!stays.has(name) && !READ_LATER.test(name)) delete env[name];
  return taken;
}

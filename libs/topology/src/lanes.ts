import type { Lanes } from "./streams.ts";

/** The subjects of a lane's commands. `caller` may be `*`; `name` is that of a command, and the two last words of its fixed subject. */
export function laneFilter(caller: string, name: string): string {
  return `yard.cmd.${caller}.${name}.>`;
}

/** The subjects of all commands that lanes are of. */
export function laneFilters({ perCaller, shared }: Lanes): string[] {
  return [...perCaller, ...shared].map((name) => laneFilter("*", name));
}

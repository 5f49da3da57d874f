import type { Destination, Destinations } from "../destinations.ts";
import type { Statement } from "./statements.ts";
import type { Taint, Taints } from "./taint.ts";

/** A sink that a tainted value reached. */
export interface Arrival {
  readonly at: Statement;
  readonly sink: "network" | "names" | "clipboard" | "execution";
  readonly taints: readonly Taint[];
  /** The destinations of the statement; empty where it names none. */
  readonly to: readonly Destination[];
}

/** The state that the followers of statements share. */
export interface Following {
  readonly taints: Taints;
  readonly destinations: Destinations;
  /** False when no text names an untrusted host. */
  readonly mayFetch: boolean;
  /** The parameters of each function, by {@link givenTo}. */
  readonly functions: ReadonlyMap<string, readonly string[]>;
  /** The destinations that a variable of a file is connected to. */
  readonly connections: Map<string, readonly Destination[]>;
  /** The origin of the directory that a statement runs in. */
  here: readonly Taint[];
  arrive(arrival: Arrival): void;
  /** Follows a command in a text of a program. */
  command(statement: Statement): void;
  /** The statements below are in this directory. */
  enter(directory: string): void;
}

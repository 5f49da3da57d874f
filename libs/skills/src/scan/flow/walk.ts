import type { Destination, Destinations } from "../destinations.ts";
import { followCode } from "./follow-code.ts";
import { followShell } from "./follow-shell.ts";
import type { Arrival, Following } from "./following.ts";
import type { Statement } from "./statements.ts";
import { argumentsOf, baseOf, givenTo, joined, Taints, type Taint } from "./taint.ts";

/** The limit of evaluations of statements; one is evaluated again when a value that it mentions gets more labels. */
const MAX_STEPS = 4_000;
const FUNCTION_SHELL =
  /^\s*(?:function\s+)?([A-Za-z_][\w-]{0,60})\s*\(\)|^\s*function\s+([A-Za-z_][\w-]{0,60})\s*\{/;
const FUNCTION_CODE =
  /^\s*(?:export\s+)?(?:default\s+)?(?:async\s+)?(?:def|function\*?|sub|func|fn)\s+([A-Za-z_]\w{0,60})\s*\(?([^)\n]{0,300})|^\s*(?:export\s+)?(?:const|let|var)\s+([A-Za-z_]\w{0,60})\s*=\s*(?:async\s*)?(?:function\s*)?\(?([^)\n=]{0,300})\)?\s*(?:=>|\{)/;
const IS_GIVEN = /\$[\d@*]|argv|stdin|\bargs\b|input\(/i;

/** Follows values from statements to those that mention them, until no new label is added. */
export class Walk {
  readonly #statements: readonly Statement[];
  readonly #following: Following;
  readonly #taints = new Taints();
  readonly #functions = new Map<string, readonly string[]>();
  /** The statements that contain each word, and those that read the arguments of a function or script. */
  readonly #mentions = new Map<string, number[]>();
  readonly #here = new Map<number, readonly Taint[]>();
  readonly #arrivals = new Map<number, Arrival[]>();
  readonly #queue: number[] = [];
  readonly #isQueued = new Set<number>();
  /** The arrivals of commands that added no label, by file, function and text. */
  readonly #followed = new Map<string, { known: number; arrivals: readonly Arrival[] }>();
  #at = 0;
  #hasEntered = false;

  constructor(
    statements: readonly Statement[],
    { destinations, mayFetch }: { destinations: Destinations; mayFetch: boolean },
  ) {
    this.#statements = statements;
    this.#following = {
      taints: this.#taints,
      destinations,
      mayFetch,
      functions: this.#functions,
      connections: new Map<string, readonly Destination[]>(),
      here: [],
      arrive: (arrival) =>
        this.#arrivals.set(this.#at, [...(this.#arrivals.get(this.#at) ?? []), arrival]),
      command: (statement) => followShell(statement, this.#following, 1),
      enter: (directory) => this.#enter(directory),
    };
  }

  /** Starts at the given statements. False when the step limit ended it. */
  from(seeds: readonly number[]): boolean {
    if (seeds.length === 0) return true;
    this.#index();
    for (const seed of seeds) this.#add(seed);
    // The loop appends to the queue that it reads.
    for (let steps = 0; steps < this.#queue.length; steps += 1) {
      if (steps > MAX_STEPS) return false;
      this.#step(this.#queue[steps] ?? 0);
    }
    return true;
  }

  *arrivals(): Generator<Arrival> {
    for (const index of [...this.#arrivals.keys()].toSorted((one, other) => one - other))
      yield* this.#arrivals.get(index) ?? [];
  }

  #step(index: number): void {
    const statement = this.#statements[index];
    if (statement === undefined) return;
    this.#isQueued.delete(index);
    this.#at = index;
    this.#arrivals.delete(index);
    this.#following.here = this.#here.get(index) ?? [];
    if (statement.kind === "shell") this.#followCommand(index, statement);
    else followCode(statement, this.#following);
    for (const key of this.#taints.changed.splice(0))
      for (const next of this.#mentioning(key)) this.#add(next);
  }

  /** Follows a command, or reuses the arrivals of an equal one when no name has got a value or a connection since. */
  #followCommand(index: number, statement: Statement): void {
    const { file, scope, text, line } = statement;
    const key = `${file}\n${scope ?? ""}\n${text}`;
    const known = this.#known();
    const isPlain = this.#following.here.length === 0;
    const before = isPlain ? this.#followed.get(key) : undefined;
    if (before?.known === known) {
      const arrivals = before.arrivals.map((one) => onLine(one, line));
      if (arrivals.length > 0) this.#arrivals.set(index, arrivals);
      return;
    }
    this.#hasEntered = false;
    followShell(statement, this.#following);
    // The effect of a command on the statements behind it depends on its position.
    if (isPlain && !this.#hasEntered && this.#known() === known)
      this.#followed.set(key, { known, arrivals: this.#arrivals.get(index) ?? [] });
  }

  /** Grows with each value that a name holds and each connection. */
  #known(): number {
    return this.#taints.size + this.#following.connections.size;
  }

  #add(index: number): void {
    if (this.#isQueued.has(index)) return;
    this.#isQueued.add(index);
    this.#queue.push(index);
  }

  #mentioning(key: string): number[] {
    if (key.startsWith("(") || key.startsWith("arguments ")) return this.#mentions.get(key) ?? [];
    if (!key.startsWith("$")) return this.#mentions.get(longestWord(key)) ?? [];
    const [name = "", file] = key.slice(1).split("\n");
    return (this.#mentions.get(name) ?? []).filter(
      (index) => this.#statements[index]?.file === file,
    );
  }

  #enter(directory: string): void {
    this.#hasEntered = true;
    const came = this.#taints.of(directory);
    const from = this.#statements[this.#at];
    if (came.length === 0 || from === undefined) return;
    for (let index = this.#at + 1; index < this.#statements.length; index += 1) {
      const { file, block } = this.#statements[index] ?? {};
      if (file !== from.file || block !== from.block) return;
      const held = this.#here.get(index) ?? [];
      const all = joined(held, came);
      if (all.length > held.length) this.#add(index);
      this.#here.set(index, all);
    }
  }

  #index(): void {
    let scope: string | null = null;
    let file = "";
    for (const [index, statement] of this.#statements.entries()) {
      if (statement.file !== file) scope = null;
      ({ file } = statement);
      const defined = this.#define(statement);
      scope = defined ?? scope;
      statement.scope = scope;
      for (const word of new Set(statement.text.match(/[A-Za-z_]\w*|\d\w+/g)))
        this.#mention(word, index);
      if (IS_GIVEN.test(statement.text)) {
        this.#mention(argumentsOf(file), index);
        if (scope !== null) this.#mention(givenTo(file, scope), index);
      }
      const isEnd = statement.kind === "shell" && /^\s*\}|\}\s*$/.test(statement.text);
      if (isEnd) scope = null;
    }
  }

  #mention(key: string, index: number): void {
    const known = this.#mentions.get(key);
    if (known === undefined) this.#mentions.set(key, [index]);
    else known.push(index);
  }

  /** The name of the function that a statement defines. */
  #define({ kind, text, file }: Statement): string | null {
    if (kind === "shell") {
      const [, name, other] =
        text.includes("(") || text.includes("{") ? (FUNCTION_SHELL.exec(text) ?? []) : [];
      const defined = name ?? other ?? null;
      if (defined !== null) this.#functions.set(givenTo(file, defined), []);
      return defined;
    }
    const [, name, given, arrow, arrowGiven] = text.includes("(")
      ? (FUNCTION_CODE.exec(text) ?? [])
      : [];
    const defined = name ?? arrow ?? null;
    if (defined === null) return null;
    const parameters = (given ?? arrowGiven ?? "")
      .split(",")
      .map((parameter) => /[A-Za-z_]\w*/.exec(parameter)?.[0] ?? "")
      .filter((parameter) => parameter !== "" && parameter !== "self");
    this.#functions.set(givenTo(file, defined), parameters);
    return defined;
  }
}

function onLine(arrival: Arrival, line: number): Arrival {
  return { ...arrival, at: { ...arrival.at, line } };
}

/** Returns the word of a key that occurs in the fewest statements. */
function longestWord(key: string): string {
  const words =
    baseOf(key.replace(/^(?:function|env|output) /, "")).match(/[A-Za-z_]\w*|\d\w+/g) ?? [];
  return words.toSorted((one, other) => other.length - one.length)[0] ?? "";
}

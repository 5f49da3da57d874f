import { runProgram, tryProgram, type Ended, type ProgramOptions } from "./run-program.ts";

/** `kubectl` as the cluster's administrator, from the network of the first node. */
export class Kubectl {
  readonly #command: readonly string[];

  /** `command`: kubectl with its options, such as `["kubectl", "--namespace=switchyard"]`. */
  constructor(command: readonly string[]) {
    this.#command = command;
  }

  /** The same with a namespace. */
  in(namespace: string): Kubectl {
    return new Kubectl([...this.#command, `--namespace=${namespace}`]);
  }

  async run(args: readonly string[], options?: ProgramOptions): Promise<string> {
    return await runProgram([...this.#command, ...args], options);
  }

  async try(args: readonly string[], options?: ProgramOptions): Promise<Ended> {
    return await tryProgram([...this.#command, ...args], options);
  }

  /** Applies objects, or the text of a manifest. */
  async apply(what: string | object): Promise<void> {
    const input = typeof what === "string" ? what : JSON.stringify(what);
    await this.run(["apply", "-f", "-"], { input });
  }

  /** The objects of a kind. The caller names the fields that it reads. */
  async list<T>(kind: string, ...args: readonly string[]): Promise<readonly T[]> {
    const reported: unknown = JSON.parse(await this.run(["get", kind, ...args, "-o", "json"]));
    return (reported as { items: T[] }).items; // a List of Kubernetes
  }
}

import type { Bus } from "@switchyard/bus/bus";
import { discoverServices } from "@switchyard/bus/discovery";
import { SERVICE_NAMES, type ServiceName } from "@switchyard/contracts/user-names";

/** The consequence of a missing service. */
const WITHOUT: Readonly<Partial<Record<ServiceName, string>>> = {
  policy: "no run starts or continues, and no tool is called",
  runner: "runs stay in the queue",
  importer: "no run starts",
  broker: "runs that use MCP servers do not continue",
  toolbox: "runs that use built-in tools do not continue",
};

/** Services that every run needs. */
const FOR_RUNS: readonly ServiceName[] = ["policy", "runner", "importer"];

/** Explains why runs do not start; null when no service is missing, and where services cannot be discovered. */
export async function whyRunsWait(bus: Bus): Promise<string | null> {
  try {
    const found = await discoverServices(bus, { expected: SERVICE_NAMES });
    const names = new Set(found.map(({ name }) => name));
    const missing = FOR_RUNS.filter((name) => !names.has(name));
    return missing.length === 0 ? null : missing.map(missingText).join("; ");
  } catch {
    return null; // over HTTP services cannot be discovered
  }
}

/** `no answer from policy: no run starts or continues, and no tool is called`. */
export function missingText(name: ServiceName): string {
  const without = WITHOUT[name];
  return `no answer from ${name}${without === undefined ? "" : `: ${without}`}`;
}

import type { ServiceName } from "@switchyard/contracts/user-names";
import type { ServiceDefinition } from "@switchyard/service/define-service";
import { commaSeparated } from "@switchyard/service/env";
import { StartError } from "@switchyard/service/start-error";

/** The services in the order of their start. A service that is not chosen is not even loaded. */
const SERVICES: Readonly<Record<ServiceName, () => Promise<ServiceDefinition>>> = {
  policy: async () => (await import("@switchyard/policy/service")).policyService,
  importer: async () => (await import("@switchyard/skill-importer/service")).importerService,
  broker: async () => (await import("@switchyard/mcp-broker/service")).brokerService,
  toolbox: async () => (await import("@switchyard/toolbox/service")).toolboxService,
  runner: async () => (await import("@switchyard/agent-runner/service")).runnerService,
  channels: async () => (await import("@switchyard/channels/service")).channelsService,
  scheduler: async () => (await import("@switchyard/scheduler/service")).schedulerService,
  gateway: async () => (await import("@switchyard/gateway/service")).gatewayService,
};

/**
 * The services that `YARD_SERVICES` names, in the order of their start: names with commas, or `all`, which is also what an
 * empty setting means. Rejects with a StartError that names every word that is no service.
 */
export async function chosenServices(setting: string): Promise<ServiceDefinition[]> {
  const words = commaSeparated(setting);
  const known = Object.keys(SERVICES);
  const names = words.length === 0 || words.includes("all") ? known : words;
  const unknown = names.filter((name) => !known.includes(name));
  if (unknown.length > 0)
    throw new StartError(`YARD_SERVICES names ${unknown.join(", ")}, which is no service`, {
      hint: `use all, or some of ${known.join(", ")}, with commas`,
    });
  const chosen = Object.entries(SERVICES).filter(([name]) => names.includes(name));
  return Promise.all(chosen.map(([, load]) => load()));
}

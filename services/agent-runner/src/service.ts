import { runCommands } from "@switchyard/topology/streams";
import { defineService } from "@switchyard/service/define-service";
import { RunnerEnv } from "./config.ts";
import { startRunner, VERSION } from "./start-runner.ts";

export const runnerService = defineService({
  name: "agent-runner",
  user: "runner",
  version: VERSION,
  env: RunnerEnv,
  consumers: [runCommands],
  startsAfter: ["policy", "importer", "broker", "toolbox"],
  start: startRunner,
});

import { runCommands } from "@switchyard/contracts/streams";
import { runService } from "@switchyard/service/run-service";
import { RunnerEnv } from "./config.ts";
import { startRunner, VERSION } from "./start-runner.ts";

await runService({
  name: "agent-runner",
  user: "runner",
  version: VERSION,
  env: RunnerEnv,
  consumers: [runCommands],
  start: startRunner,
});

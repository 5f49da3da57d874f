import { runService } from "@switchyard/service/run-service";
import { schedulerEnv } from "./config.ts";
import { startScheduler } from "./start-scheduler.ts";

const version = "0.1.0";

await runService({
  name: "scheduler",
  user: "scheduler",
  version,
  env: schedulerEnv,
  start: async (kit) => {
    const scheduler = await startScheduler({ ...kit, version });
    kit.onStop("jobs", () => scheduler.stop());
  },
});

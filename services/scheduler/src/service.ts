import { defineService } from "@switchyard/service/define-service";
import { schedulerEnv } from "./config.ts";
import { startScheduler } from "./start-scheduler.ts";

const version = "0.1.0";

export const schedulerService = defineService({
  name: "scheduler",
  user: "scheduler",
  version,
  env: schedulerEnv,
  startsAfter: ["policy", "runner"],
  start: async (kit) => {
    const scheduler = await startScheduler({ ...kit, version });
    kit.onStop("jobs", () => scheduler.stop());
  },
});

import { runService } from "@switchyard/service/run-service";
import { toolboxEnv } from "./config.ts";
import { startToolbox } from "./start-toolbox.ts";

await runService({
  name: "toolbox",
  user: "toolbox",
  version: "0.1.0",
  env: toolboxEnv,
  start: async (kit) => {
    const toolbox = await startToolbox({ ...kit, version: "0.1.0" });
    kit.describe("sandbox", toolbox.sandbox);
    kit.onStop("calls", () => toolbox.stop());
  },
});

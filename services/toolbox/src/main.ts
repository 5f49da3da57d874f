import { startAudit } from "@switchyard/service/audit/start-audit";
import { policyAnswers } from "@switchyard/service/policy-answers";
import { runService } from "@switchyard/service/run-service";
import { toolboxEnv } from "./config.ts";
import { startToolbox } from "./start-toolbox.ts";

await runService({
  name: "toolbox",
  user: "toolbox",
  version: "0.1.0",
  env: toolboxEnv,
  start: async (kit) => {
    const audit = await startAudit({ ...kit, service: "toolbox", version: "0.1.0" });
    if (audit !== null) kit.onStop("audit", () => audit.stop());
    const toolbox = await startToolbox({ ...kit, version: "0.1.0", audit });
    kit.describe("sandbox", toolbox.sandbox);
    kit.ready("policy", policyAnswers(kit.bus));
    kit.onStop("calls", () => toolbox.stop());
  },
});

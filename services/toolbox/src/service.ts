import { startAudit } from "@switchyard/audit/start-audit";
import { defineService } from "@switchyard/service/define-service";
import { policyAnswers } from "@switchyard/tool-provider/policy-answers";
import { toolboxEnv } from "./config.ts";
import { startToolbox } from "./start-toolbox.ts";

export const toolboxService = defineService({
  name: "toolbox",
  user: "toolbox",
  version: "0.1.0",
  env: toolboxEnv,
  startsAfter: ["policy"],
  start: async (kit) => {
    const audit = await startAudit({ ...kit, service: "toolbox", version: "0.1.0" });
    if (audit !== null) kit.onStop("audit", () => audit.stop());
    const toolbox = await startToolbox({ ...kit, version: "0.1.0", audit });
    kit.describe("sandbox", toolbox.sandbox);
    kit.ready("policy", policyAnswers(kit.bus));
    kit.onStop("calls", () => toolbox.stop());
  },
});

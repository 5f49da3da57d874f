import { startAudit } from "@switchyard/audit/start-audit";
import { defineService } from "@switchyard/service/define-service";
import { policyAnswers } from "@switchyard/tool-provider/policy-answers";
import { createTokenCipher } from "./auth/token-cipher.ts";
import { readCipherKeyFile } from "@switchyard/service/keys-directory";
import { brokerEnv } from "./config.ts";
import { startBroker } from "./start-broker.ts";
import { constant } from "@switchyard/service/constant";

const VERSION = "0.1.0";

/** The part of the drain time that calls in flight get; the rest is for the children to end. */
const CALLS_SHARE = 0.6;

/** The time for which a question of a server waits for a person's answer at most. */
const QUESTION_MS = 600_000;

export const brokerService = defineService({
  name: "mcp-broker",
  user: "broker",
  version: VERSION,
  env: brokerEnv,
  startsAfter: ["policy"],
  start: async (kit) => {
    const { config } = kit;
    const audit = await startAudit({ ...kit, service: "broker", version: VERSION });
    if (audit !== null) kit.onStop("audit", () => audit.stop());
    const given = { ...kit, audit, version: VERSION };
    const broker = await startBroker(given, {
      servers: {
        serversFile: config.YARD_MCP_SERVERS_FILE,
        stateDir: config.YARD_STATE_DIR,
        sandbox: config.YARD_MCP_SANDBOX,
        env: kit.env,
      },
      admins: config.YARD_ADMINS,
      ownership: {
        instance: kit.instance,
        leaseMs: constant("mcpLeaseMs", 5_000),
        ownedLimit: constant("mcpOwnedLimit", 256),
        rebalanceMs: constant("mcpRebalanceMs", 30_000),
      },
      questionMs: QUESTION_MS,
      tokenKeys: createTokenCipher(await readCipherKeyFile(config.YARD_KEYS_DIR, "mcp-logins.key")),
      maskKeys: await readCipherKeyFile(config.YARD_KEYS_DIR, "masks.key"),
      privateHosts: config.YARD_MCP_ALLOW_PRIVATE_HOSTS,
      decisionCache: constant("mcpDecisionCache", true),
      drainMs: config.YARD_DRAIN_MS * CALLS_SHARE,
    });
    kit.ready("policy", policyAnswers(kit.bus));
    kit.onStop("mcp servers", () => broker.stop());
  },
});

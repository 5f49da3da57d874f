import { CallerName, ServerId, Timestamp, ToolName } from "@switchyard/contracts/ids";
import { callTool, listTools } from "@switchyard/contracts/mcp-broker/mcp";
import * as auth from "@switchyard/contracts/mcp-broker/mcp-auth";
import { cancelCall } from "@switchyard/contracts/mcp-broker/mcp-calls";
import * as features from "@switchyard/contracts/mcp-broker/mcp-features";
import * as pins from "@switchyard/contracts/mcp-broker/mcp-pins";
import * as questions from "@switchyard/contracts/mcp-broker/mcp-questions";
import * as secrets from "@switchyard/contracts/mcp-broker/mcp-secrets";
import * as servers from "@switchyard/contracts/mcp-broker/mcp-servers";
import { Decision } from "@switchyard/contracts/policy/policy";
import { callBuiltin, cancelBuiltin, listBuiltins } from "@switchyard/contracts/toolbox/toolbox";
import { z } from "zod";
import { MCP_CLIENTS } from "../../src/mcp-clients/client-formats.ts";
import type { JsonOutputs } from "./output.ts";

const { strictObject: strict, array, string, boolean, literal, union } = z;

/** The policy's decision about every tool that a server listed. */
const judgedTools = strict({
  user: CallerName,
  tools: array(
    strict({
      name: ToolName,
      server: ServerId,
      pin: pins.PinState,
      decision: Decision.shape.effect,
      rule: string().nullable(),
      reason: string(),
    }),
  ),
});

/** The policy's decision about every tool of an installation. */
export const toolOverview = {
  user: CallerName,
  tools: array(
    strict({
      name: ToolName,
      server: ServerId.nullable(),
      definition: pins.PinState.nullable(),
      decision: z.enum(["allow", "some", "ask", "deny"]),
      rule: string().nullable(),
      reason: string(),
    }),
  ),
};

const otherClient = { client: z.enum(MCP_CLIENTS), file: string() };

export const MCP_OUTPUTS: JsonOutputs = {
  "mcp list": { document: servers.listServers.reply },
  "mcp secret set": { document: secrets.setServerSecret.reply },
  "mcp secret list": { document: secrets.listServerSecrets.reply },
  "mcp secret delete": { document: secrets.deleteServerSecret.reply },
  "mcp get": { document: servers.getServer.reply },
  "mcp check": { document: strict({ ok: boolean(), servers: array(servers.ServerInfo) }) },
  "mcp logs": { document: servers.serverLogs.reply },
  "mcp add": { document: servers.addServer.reply },
  "mcp add-json": { document: servers.addServer.reply },
  "mcp update": { document: servers.updateServer.reply },
  "mcp remove": { document: servers.removeServer.reply },
  "mcp reset": { document: servers.resetServer.reply },
  "mcp enable": { document: servers.enableServer.reply },
  "mcp disable": { document: servers.enableServer.reply },
  "mcp connect": { document: servers.connectServer.reply },
  "mcp disconnect": { document: servers.disconnectServer.reply },
  "mcp login": {
    line: z.discriminatedUnion("type", [
      strict({
        schemaVersion: literal(1),
        type: literal("address"),
        authorizationUrl: z.url(),
        expiresAt: Timestamp,
      }),
      strict({ schemaVersion: literal(1), type: literal("login"), server: servers.ServerInfo }),
    ]),
  },
  "mcp logout": { document: auth.logout.reply },
  "mcp import": {
    document: strict({
      ...otherClient,
      servers: array(
        strict({
          name: string(),
          outcome: z.enum(["added", "left out", "failed", "not added yet"]),
          reason: string().nullable(),
        }),
      ),
    }),
  },
  "mcp export": {
    document: union([
      strict({ ...otherClient, text: string() }),
      strict({
        ...otherClient,
        url: z.url(),
        isChanged: boolean(),
        backup: string().nullable(),
      }),
    ]),
  },
  "mcp tools": { document: union([listTools.reply, judgedTools]) },
  "mcp call": { document: callTool.reply },
  "mcp cancel": { document: cancelCall.reply },
  "mcp refresh": { document: pins.refreshTools.reply },
  "mcp pins list": { document: pins.listPins.reply.omit({ more: true }) },
  "mcp pins diff": { document: pins.diffPin.reply },
  "mcp pins approve": { document: pins.approvePins.reply },
  "mcp pins block": { document: pins.blockPins.reply },
  "mcp resources list": { document: features.listResources.reply },
  "mcp resources templates": { document: features.listResourceTemplates.reply },
  "mcp resources read": { document: features.readResource.reply },
  "mcp resources subscribe": { line: features.resourceUpdated.payload },
  "mcp prompts list": { document: features.listPrompts.reply },
  "mcp prompts get": { document: features.getPrompt.reply },
  "mcp prompts complete": { document: features.completeArgument.reply },
  "mcp messages": { document: features.listMessages.reply },
  "mcp questions list": { document: questions.listQuestions.reply },
  "mcp questions answer": { document: questions.answerQuestion.reply },
  "tools list": { document: union([listBuiltins.reply, strict(toolOverview)]) },
  "tools call": { document: callBuiltin.reply },
  "tools cancel": { document: cancelBuiltin.reply },
};

import { Command, Help } from "commander";
import { brokenLines, screenText, screenWidth } from "./table.ts";
import type { Perform } from "./program/command-options.ts";
import { addApprovalCommands } from "./program/approval-commands.ts";
import { addAuditCommands } from "./program/audit-commands.ts";
import { addAgentCommands } from "./program/agent-commands.ts";
import { addChannelCommands } from "./program/channel-commands.ts";
import { addConfigCommands } from "./program/config-commands.ts";
import { addGlobalOptions } from "./program/global-options.ts";
import { addDefinitionCommands } from "./program/definition-commands.ts";
import { addExamples } from "./program/examples.ts";
import { addLocalCommands } from "./program/local-commands.ts";
import { addMcpCommands } from "./program/mcp-commands.ts";
import { addToolCommands } from "./program/tool-commands.ts";
import { addOperatorCommands } from "./program/operator-commands.ts";
import { addPolicyCommands } from "./program/policy-commands.ts";
import { addScheduleCommands } from "./program/schedule-commands.ts";
import { addWebhookCommands } from "./program/webhook-commands.ts";
import { addSessionCommands } from "./program/session-commands.ts";
import { addRunCommands } from "./program/run-commands.ts";

const EPILOGUE = `
Exit codes: 0 ok, 1 failed, 2 usage, 3 not found, 4 denied, 5 waits for an approval or an answer, 6 NATS, Redis or a service is down,
7 timeout, 130 interrupted. More help: yard help TOPIC, with the topics skills, agents, commands,
config, memory, tools, workspace, policy, approvals, subjects, models and exit-codes.

Environment: YARD_NATS_URL names a bus elsewhere; without it the commands use the instance that
"yard dev" runs. YARD_USER and YARD_NATS_NKEY_FILE are your user and its key there. YARD_CONTEXT names another
installation, or a gateway by its address, and YARD_API_KEY the key for that. YARD_STATE_DIR moves the
state of a project from its .switchyard.`;

/** A narrower column is harder to read than a description below its term. */
const NARROWEST = 40;

/** As Commander does, but on a narrow screen the description is below its term. */
function formatItem(term: string, width: number, description: string, help: Help): string {
  const screen = help.helpWidth ?? Number.POSITIVE_INFINITY;
  if (description === "" || screen - width - 4 >= NARROWEST)
    return Help.prototype.formatItem.call(help, term, width, description, help);
  const below = brokenLines(description, screen - 6).map((line) => `\n      ${line}`);
  return `  ${term}${below.join("")}`;
}

/** Declares the commands. What they do is imported when one of them is used. */
export function buildProgram(version: string, perform: Perform): Command {
  const program = new Command("yard")
    .description("Switchyard: AI agents as event-driven microservices")
    .version(version)
    .exitOverride()
    // Ours knows topics and commands of commands, too.
    .helpCommand(false)
    // Behind a command an option is the command's: --version of `skills rollback` names one of the skill.
    .enablePositionalOptions()
    .showHelpAfterError("(add --help for the usage)")
    .configureOutput({
      writeOut: (text) => void process.stdout.write(screenText(text, screenWidth())),
      writeErr: (text) => void process.stderr.write(screenText(text, screenWidth(process.stderr))),
    })
    .configureHelp({ formatItem })
    .addHelpText("after", EPILOGUE);
  addLocalCommands(program, perform);
  addRunCommands(program, perform);
  addSessionCommands(program, perform, (other) => buildProgram(version, other));
  addScheduleCommands(program, perform);
  addChannelCommands(program, perform);
  addWebhookCommands(program, perform);
  addMcpCommands(program, perform);
  addToolCommands(program, perform);
  addPolicyCommands(program, perform);
  addApprovalCommands(program, perform);
  addAuditCommands(program, perform);
  addAgentCommands(program, perform);
  addDefinitionCommands(program, perform);
  addOperatorCommands(program, perform);
  addConfigCommands(program, perform);
  addGlobalOptions(program);
  addExamples(program);
  return program;
}

import { listAgents } from "@switchyard/contracts/skill-importer/agents";
import {
  messageFailed,
  messageReceived,
  messageSent,
  messageUnconfirmed,
} from "@switchyard/contracts/channels/channel-events";
import {
  checkChannelAccount,
  listChannelAccounts,
  loginChannelAccount,
  sendChannelMessage,
} from "@switchyard/contracts/channels/channels";
import * as chatLinks from "@switchyard/contracts/policy/chat-links";
import * as schedules from "@switchyard/contracts/scheduler/schedules";
import { SessionKey } from "@switchyard/contracts/agent-runner/session-key";
import * as sessions from "@switchyard/contracts/agent-runner/sessions";
import { getSkill, listSkills } from "@switchyard/contracts/skill-importer/skills";
import { z } from "zod";
import type { JsonOutputs } from "./output.ts";
import { runEvent } from "./runs.ts";

const { strictObject: strict, array, string, boolean, literal, union } = z;

/** The end of a run of a chat. */
const runEnd = z.discriminatedUnion("end", [
  strict({ end: literal("finished"), output: string(), isWhole: boolean() }),
  strict({ end: z.enum(["failed", "cancelled", "rejected"]), code: string(), message: string() }),
]);

/** A message that begins with a slash may be answered by yard itself. */
const answeredLine = union([
  strict({ commands: array(strict({ usage: string(), meaning: string() })) }),
  sessions.patchSession.reply,
  listAgents.reply,
  listSkills.reply,
  getSkill.reply,
]);

const job = strict({ job: schedules.ScheduleJob });

export const CONVERSATION_OUTPUTS: JsonOutputs = {
  chat: { document: strict({ session: SessionKey, end: runEnd.nullable() }) },
  "sessions list": { document: sessions.listSessions.reply },
  "sessions show": {
    document: strict({
      session: sessions.Session,
      history: sessions.sessionHistory.reply.nullable(),
    }),
  },
  "sessions set": { document: sessions.patchSession.reply },
  "sessions reset": { document: sessions.resetSession.reply },
  "sessions delete": { document: sessions.deleteSession.reply },
  "sessions send": {
    line: runEvent,
    document: union([sessions.sendToSession.reply, answeredLine]),
  },
  "schedules list": { document: schedules.listSchedules.reply },
  "schedules show": { document: job },
  "schedules history": { document: schedules.scheduleRuns.reply },
  "schedules add": { document: job },
  "schedules edit": { document: job },
  "schedules pause": { document: job },
  "schedules resume": { document: job },
  "schedules run": { document: schedules.runSchedule.reply },
  "schedules remove": { document: schedules.removeSchedule.reply },
  "channels list": { document: listChannelAccounts.reply },
  "channels add": {
    document: strict({ file: string(), account: string(), variables: array(string()) }),
  },
  "channels link": { document: chatLinks.createChatLink.reply },
  "channels links": { document: chatLinks.listChatLinks.reply },
  "channels unlink": { document: chatLinks.revokeChatLink.reply },
  "channels login": { document: loginChannelAccount.reply },
  "channels check": { document: strict({ checks: array(checkChannelAccount.reply) }) },
  "channels send": { document: sendChannelMessage.reply },
  "channels tail": {
    line: z.discriminatedUnion("kind", [
      messageReceived.payload.extend({ kind: literal("received") }),
      messageSent.payload.extend({ kind: literal("sent") }),
      messageFailed.payload.extend({ kind: literal("failed") }),
      messageUnconfirmed.payload.extend({ kind: literal("unconfirmed") }),
    ]),
  },
};

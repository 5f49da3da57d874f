import assert from "node:assert/strict";
import { test } from "node:test";
import type { Bus } from "@switchyard/bus/bus";
import { Conversation, type SlashCommand } from "./conversation.ts";
import { SLASH_COMMANDS } from "./slash-commands.ts";

/** Without a bus: a line that is not a command would fail. */
function conversation(commands: readonly SlashCommand[]) {
  const written: string[] = [];
  const unused = () => assert.fail("not needed here");
  const screen = {
    write: (text: string) => void written.push(text),
    paint: (_: string, text: string) => text,
  };
  const chat = new Conversation(
    {} as Bus, // no command of these tests calls a service
    {
      key: "chat-1",
      agent: "helper",
      model: "a/b",
      skillsOff: [],
      hasBegun: false,
      commands,
      env: {},
    },
    // The commands call only these functions of a screen.
    {
      signal: new AbortController().signal,
      screen: screen as never,
      person: null,
      isLive: false,
      withTerminal: unused,
      isShellCommand: () => false,
      shell: unused,
      readLine: unused,
    },
  );
  return { chat, written };
}

test("a line with a slash is a command before any model is called, and has candidates [D21] [D22]", async () => {
  const seen: unknown[] = [];
  const command: SlashCommand = {
    name: "look",
    arguments: "",
    meaning: "test",
    run: ({ agent, model, key }, rest) => void seen.push({ agent, model, key, rest }),
  };
  const { chat } = conversation([...SLASH_COMMANDS, command]);
  await chat.take("/look at this");
  assert.deepEqual(seen, [{ agent: "helper", model: "a/b", key: "chat-1", rest: "at this" }]);
  assert.deepEqual(chat.candidates("/loo"), ["/look"]);
  assert.deepEqual(chat.candidates("/ski"), ["/skills", "/skill", "/skill off", "/skill on"]);
});

test("a command states its arguments and its meaning [D21]", async () => {
  const { chat, written } = conversation(SLASH_COMMANDS);
  await chat.take("/help use");
  assert.match(written.join(""), /\/use <name> \[arguments\]/);
  for (const { name, meaning } of SLASH_COMMANDS) assert.ok(meaning.length > 0, name);
});

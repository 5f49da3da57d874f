import type { Command } from "commander";
import { JSON_TEXT, type Perform } from "./command-options.ts";

const load = () => import("../commands/channels.ts");
const loadLinks = () => import("../commands/channels-link.ts");

/** `yard channels`. */
export function addChannelCommands(program: Command, perform: Perform): void {
  const channels = program
    .command("channels")
    .description("where agents talk with people; an account is channel or channel/account");
  channels
    .command("list")
    .description("the accounts that you may use, how each is and what it can do")
    .option("--channel <name>", "only of this channel")
    .option("--json", JSON_TEXT)
    .action((options) =>
      perform(options, async (terminal) => (await load()).list(terminal, options)),
    );
  channels
    .command("add <account>")
    .description("write an account to the project's channels.json, with ${VAR} for its secrets")
    .option("--project <dir>", "directory of the project", ".")
    .option("--user <name>", "in whose name messages become runs", "cli")
    .option("--agent <name>", "the agent that answers; without it messages get no answer")
    .option(
      "--owner <id...>",
      "your own id at the provider; messages of owners are always accepted",
    )
    .option("--secret <field=VARIABLE...>", "the variable with a secret, where it is not the usual")
    .option("--address <address>", "for email: the account's own address")
    .option("--smtp <host[:port]>", "for email: where mail is sent; port 465 unless given")
    .option("--imap <host[:port]>", "for email: where mail is read, 993; left out: it only sends")
    .option("--mail-user <name>", "for email: who signs in; left out: the address")
    .option("--url <url>", "for webhook: where messages are sent; left out: it only takes them")
    .option("--json", JSON_TEXT)
    .action((account, options) =>
      perform(options, async (terminal) =>
        (await import("../commands/channels-add.ts")).add(terminal, account, options),
      ),
    );
  channels
    .command("login <account>")
    .description("give an account its token or password: asked for unseen, tried, then kept")
    .option("--json", JSON_TEXT)
    .action((account, options) =>
      perform(options, async (terminal) =>
        (await import("../commands/channels-login.ts")).login(terminal, account, options),
      ),
    );
  addLinkCommands(channels, perform);
  channels
    .command("check [account]")
    .description("ask providers whether they take the credentials; left out: of all accounts")
    .option("--json", JSON_TEXT)
    .action((account, options) =>
      perform(options, async (terminal) => (await load()).check(terminal, account, options)),
    );
  channels
    .command("send <account> <target> <message>")
    .description("send a message; the target is user:ID, group:ID, channel:ID or a name")
    .option("--thread <id>", "in this thread")
    .option("--reply-to <message-id>", "as a reply to this message")
    .option("--attach <source...>", "a URL, or a file where the service may take files from")
    .option("--effect <id>", "with an effect that the account has")
    .option("--silent", "without a sound on the other side, where the channel can")
    .option("--key <text>", "the same key again is the same message, for a day")
    .option("--dry-run", "only look whether it could be sent")
    .option("--json", JSON_TEXT)
    .action((account, target, message, options) =>
      perform(options, async (terminal) =>
        (await load()).send(terminal, { account, target, message }, options),
      ),
    );
  channels
    .command("tail")
    .description("follow the messages that come in and go out, until Ctrl-C")
    .option("--channel <name>", "only of this channel")
    .option("--json", "print the events as lines of JSON")
    .action((options) =>
      perform(options, async (terminal) =>
        (await import("../commands/channels-tail.ts")).tail(terminal, options),
      ),
    );
}

/** `yard channels link`, `links` and `unlink`. */
function addLinkCommands(channels: Command, perform: Perform): void {
  channels
    .command("link")
    .description("make a one-time code: send it to a bot in private to decide there as yourself")
    .option("--ask", "also send calls that you may decide about to that chat")
    .option("--json", JSON_TEXT)
    .action((options) =>
      perform(options, async (terminal) => (await loadLinks()).link(terminal, options)),
    );
  channels
    .command("links")
    .description("the chats in which you may decide")
    .option("--user <name>", "those of this user, for policy admins")
    .option("--json", JSON_TEXT)
    .action((options) =>
      perform(options, async (terminal) => (await loadLinks()).links(terminal, options)),
    );
  channels
    .command("unlink <id>")
    .description("end a link of a chat at once")
    .option("--json", JSON_TEXT)
    .action((id, options) =>
      perform(options, async (terminal) => (await loadLinks()).unlink(terminal, id, options)),
    );
}

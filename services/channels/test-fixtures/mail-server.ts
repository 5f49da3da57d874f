// An SMTP and an IMAP server on loopback, without TLS, as far as a mailbox of a bot uses them.
import { createServer, type AddressInfo, type Socket } from "node:net";
import { SMTPServer } from "smtp-server";

export type MailServer = Awaited<ReturnType<typeof startMailServer>>;

/** `lost`: the message is accepted and the connection is lost before the answer. `hang`: accepted, and no answer comes. */
export type SmtpFault =
  | "lost"
  | "hang"
  | "too-many-connections"
  | "sign-in-later"
  | "busy"
  | "full"
  | "no-such-user"
  | "refused-content";

interface Mail {
  uid: number;
  source: string;
  seen: boolean;
}

export async function startMailServer(
  account = { user: "bot@example.test", password: "mail-secret-password" },
) {
  let expired = false;
  let uidValidity = 7;
  let nextUid = 1;
  let logins = 0;
  const mailbox: Mail[] = [];
  const received: { from: string; to: string[]; source: string }[] = [];
  const faults: SmtpFault[] = [];
  const takeFault = (fault: SmtpFault): boolean =>
    faults[0] === fault && faults.shift() !== undefined;
  const sockets = new Set<Socket>();
  const idle = new Set<() => void>();

  const smtp = new SMTPServer({
    disabledCommands: ["STARTTLS"],
    allowInsecureAuth: true,
    logger: false,
    size: 200_000,
    onConnect: (_session, done) =>
      takeFault("too-many-connections")
        ? done(smtpError(421, "4.7.0 Too many connections"))
        : done(),
    onAuth: (auth, _session, done) =>
      takeFault("sign-in-later")
        ? done(smtpError(454, "4.7.0 Temporary authentication failure"))
        : !expired && auth.username === account.user && auth.password === account.password
          ? done(null, { user: account.user })
          : done(smtpError(535, "5.7.8 Authentication credentials invalid")),
    onRcptTo: (_address, _session, done) => {
      if (takeFault("no-such-user")) return done(smtpError(550, "5.1.1 No such user"));
      if (takeFault("busy")) return done(smtpError(451, "4.7.1 Try again later"));
      done();
    },
    onData: (stream, session, done) => {
      const chunks: Buffer[] = [];
      stream.on("data", (chunk: Buffer) => chunks.push(chunk));
      stream.on("end", () => {
        const fault = faults.shift();
        if (fault === "full") return done(smtpError(452, "4.3.1 Insufficient system storage"));
        if (fault === "refused-content") return done(smtpError(554, "5.6.0 Message refused"));
        received.push({
          from: session.envelope.mailFrom === false ? "" : session.envelope.mailFrom.address,
          to: session.envelope.rcptTo.map((one) => one.address),
          source: Buffer.concat(chunks).toString(),
        });
        if (fault === "lost") for (const socket of smtpSockets) socket.destroy();
        else if (fault !== "hang") done();
      });
    },
  });
  const smtpSockets = new Set<Socket>();
  smtp.server.on("connection", (socket: Socket) => {
    smtpSockets.add(socket);
    socket.on("close", () => smtpSockets.delete(socket));
  });
  smtp.on("error", () => undefined);
  await new Promise<void>((done) => smtp.listen(0, "127.0.0.1", done));

  const imap = createServer((socket) => {
    sockets.add(socket);
    socket.on("error", () => undefined);
    const send = (line: string) => void (socket.writable && socket.write(`${line}\r\n`));
    let idleTag = "";
    let signInTag = "";
    const wake = () => void (idleTag && send(`* ${mailbox.length} EXISTS`));
    idle.add(wake);
    socket.on("close", () => (sockets.delete(socket), idle.delete(wake)));
    send("* OK IMAP4rev1 ready");
    let rest = "";
    socket.on("data", (data) => {
      rest += data.toString();
      for (let end = rest.indexOf("\r\n"); end >= 0; end = rest.indexOf("\r\n")) {
        const line = rest.slice(0, end);
        rest = rest.slice(end + 2);
        command(line);
      }
    });

    function command(line: string): void {
      if (line === "DONE") return (send(`${idleTag} OK IDLE ended`), void (idleTag = ""));
      if (signInTag) return signIn(signInTag, line);
      const [tag = "", name = "", ...args] = line.split(" ");
      const ok = (text = "done") => send(`${tag} OK ${text}`);
      switch (name.toUpperCase()) {
        case "CAPABILITY":
          return (send("* CAPABILITY IMAP4rev1 IDLE ID AUTH=PLAIN SASL-IR UIDPLUS"), ok());
        case "ID":
          return (send('* ID ("name" "local")'), ok());
        case "AUTHENTICATE":
          if (args[1] === undefined) return (send("+ "), void (signInTag = tag));
          return signIn(tag, args[1]);
        case "NAMESPACE":
          return (send('* NAMESPACE (("" "/")) NIL NIL'), ok());
        case "LIST":
          return (send('* LIST (\\HasNoChildren) "/" INBOX'), ok());
        case "LSUB":
          return (send('* LSUB () "/" INBOX'), ok());
        case "SELECT":
        case "EXAMINE":
          send("* FLAGS (\\Seen \\Answered)");
          send(`* ${mailbox.length} EXISTS`);
          send("* 0 RECENT");
          send(`* OK [UIDVALIDITY ${uidValidity}] valid`);
          send(`* OK [UIDNEXT ${nextUid}] next`);
          return ok("[READ-WRITE] selected");
        case "UID":
          return uid(tag, args);
        case "IDLE":
          idleTag = tag;
          return send("+ idling");
        case "LOGOUT":
          send("* BYE bye");
          ok();
          return void socket.end();
        default:
          return ok();
      }
    }

    function signIn(tag: string, response: string): void {
      const [, user, password] = Buffer.from(response, "base64").toString().split("\0");
      signInTag = "";
      if (expired || user !== account.user || password !== account.password)
        return send(`${tag} NO [AUTHENTICATIONFAILED] Invalid credentials`);
      logins++;
      send(`${tag} OK signed in`);
    }

    function uid(tag: string, [what = "", set = "", ...items]: string[]): void {
      const found = mailbox.filter((mail) => inSet(mail.uid, set));
      if (what === "FETCH")
        for (const mail of found) {
          const parts = [`UID ${mail.uid}`, `FLAGS (${mail.seen ? "\\Seen" : ""})`];
          if (items.join(" ").includes("RFC822.SIZE"))
            parts.push(`RFC822.SIZE ${Buffer.byteLength(mail.source)}`);
          if (items.join(" ").includes("BODY"))
            parts.push(`BODY[] {${Buffer.byteLength(mail.source)}}\r\n${mail.source}`);
          send(`* ${mailbox.indexOf(mail) + 1} FETCH (${parts.join(" ")})`);
        }
      if (what === "STORE") for (const mail of found) mail.seen = true;
      if (what === "SEARCH") send(`* SEARCH ${mailbox.map((mail) => mail.uid).join(" ")}`);
      send(`${tag} OK ${what} done`);
    }

    /** `4:*` means at least the last message, also when its number is lower: the client has to filter. */
    function inSet(one: number, set: string): boolean {
      const last = mailbox.at(-1)?.uid ?? 0;
      return set.split(",").some((range) => {
        const [from = "", to = from] = range.split(":");
        const [a, b] = [from, to].map((end) => (end === "*" ? last : Number(end)));
        return one >= Math.min(a ?? 0, b ?? 0) && one <= Math.max(a ?? 0, b ?? 0);
      });
    }
  });
  await new Promise<void>((done) => imap.listen(0, "127.0.0.1", done));

  return {
    account,
    smtpPort: (smtp.server.address() as AddressInfo).port,
    imapPort: (imap.address() as AddressInfo).port,
    received,
    faults,
    logins: () => logins,
    connected: () => sockets.size,
    seen: (uidOfMail: number) => mailbox.find((mail) => mail.uid === uidOfMail)?.seen,
    /** Puts a mail into the mailbox and returns its UID. */
    push(fields: Record<string, string>, body = "hello"): number {
      const headers = {
        From: "Ada <ada@example.test>",
        To: account.user,
        Subject: "A question",
        "Message-ID": `<m${nextUid}@example.test>`,
        Date: "Mon, 23 Nov 2026 10:00:00 +0000",
        ...fields,
      };
      const source = `${Object.entries(headers)
        .map(([name, value]) => `${name}: ${value}`)
        .join("\r\n")}\r\n\r\n${body}\r\n`;
      mailbox.push({ uid: nextUid, source, seen: false });
      for (const wake of idle) wake();
      return nextUid++;
    },
    /** Simulates the restoration of a mailbox: the same mails under new numbers. */
    renumber(): void {
      uidValidity++;
      nextUid = 1;
      for (const mail of mailbox) mail.uid = nextUid++;
    },
    dropImap(): void {
      for (const socket of sockets) socket.destroy();
    },
    expirePassword: () => void (expired = true),
    renewPassword: () => void (expired = false),
    async close() {
      for (const socket of [...sockets, ...smtpSockets]) socket.destroy();
      await Promise.all([
        new Promise<void>((done) => smtp.close(() => done())),
        new Promise((done) => imap.close(done)),
      ]);
    },
  };
}

function smtpError(responseCode: number, message: string): Error {
  return Object.assign(new Error(message), { responseCode });
}

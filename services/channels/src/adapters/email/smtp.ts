import { within } from "@switchyard/contracts/timeouts";
import type { Transporter } from "nodemailer";
import { type AdapterCall, ChannelError } from "../adapter.ts";
import { wasNeverConnected } from "../error-causes.ts";
import type { EmailConfig } from "./email-config.ts";

const CONNECT_MS = 20_000;
const SILENT_MS = 60_000;
/** After a refusal that may pass. */
const RETRY_MS = 3_000;

/** Sends a request to the SMTP server over a connection of its own. Errors are converted to ours. */
export async function withSmtp<T>(
  { smtp: server, signal }: { smtp: EmailConfig["smtp"]; signal: AdapterCall["signal"] },
  ask: (smtp: Transporter) => Promise<T>,
): Promise<T> {
  const smtp = await transport(server);
  try {
    return await within(ask(smtp), { signal }, () => {
      throw new ChannelError("timeout_unknown", "The mail server (SMTP) did not answer in time.");
    });
  } catch (error) {
    throw smtpError(error);
  } finally {
    smtp.close();
  }
}

/** The library is loaded on first use, and retries nothing. */
async function transport(server: EmailConfig["smtp"]): Promise<Transporter> {
  const { createTransport } = await import("nodemailer");
  const { host, port, user, password, tls } = server;
  return createTransport({
    host,
    port,
    secure: tls === "implicit",
    requireTLS: tls === "starttls",
    ignoreTLS: tls === "none",
    auth: { user, pass: password },
    connectionTimeout: CONNECT_MS,
    greetingTimeout: CONNECT_MS,
    socketTimeout: SILENT_MS,
    disableFileAccess: true,
    disableUrlAccess: true,
  });
}

function smtpError(error: unknown): ChannelError {
  if (error instanceof ChannelError) return error;
  const { code, command, responseCode, response } = error as {
    code?: string;
    command?: string;
    responseCode?: number;
    response?: string;
  };
  const answer = response === undefined ? "" : `: ${response}`;
  const isRefused = responseCode !== undefined && responseCode >= 400;
  // 4xx is "not now" (RFC 5321, 4.2.1), at every step; SMTP has no field for the delay.
  if (isRefused && responseCode < 500)
    return new ChannelError(
      "rate_limited",
      `The mail server takes no mail for now; nothing was sent${answer}`,
      { retryAfterMs: RETRY_MS },
    );
  if (code === "EAUTH")
    return new ChannelError(
      "not_allowed",
      "The mail server refuses user or password (SMTP). Many providers want a password made for this program.",
    );
  if (isRefused && command === "RCPT TO")
    return new ChannelError("invalid_target", `The mail server refuses the recipient${answer}`);
  if (isRefused)
    return new ChannelError(
      "not_allowed",
      `The mail server refuses the mail, now and later; nothing was sent${answer}`,
    );
  if (code === "EENVELOPE" || code === "EDNS" || code === "ETLS" || wasNeverConnected(error))
    return new ChannelError(
      "provider_error",
      "The mail did not get to the mail server (SMTP); nothing was sent.",
    );
  return new ChannelError("timeout_unknown", "The answer of the mail server (SMTP) was lost.");
}

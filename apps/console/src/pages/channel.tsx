import type { Address, ChannelAccount } from "@switchyard/client/operations";
import { useState } from "preact/hooks";
import { numberText } from "../core/format.ts";
import { act, useAgainEvery, useResource } from "../core/resource.ts";
import { callerName, client, may } from "../core/session.ts";
import { toast } from "../core/toasts.ts";
import { Fact } from "../run/run-facts.tsx";
import { Page } from "../ui/page.tsx";
import { Loading, ProblemNote } from "../ui/resource-view.tsx";
import { Status } from "../ui/status.tsx";
import { saidCode } from "../ui/statuses.ts";
import { ChannelTarget } from "./channel-target.tsx";
import { LOOK_AGAIN_MS } from "./channels.tsx";

/** One account: its state, its capabilities, and the messages with people. */
export function ChannelPage({ params }: { params: Readonly<Record<string, string>> }) {
  const { channel = "", accountId = "" } = params;
  const accounts = useResource("GET /channels/accounts", { query: { channel } });
  useAgainEvery(accounts, LOOK_AGAIN_MS);
  const account = accounts.data?.accounts.find((one) => one.accountId === accountId);
  return (
    <Page
      title={`${channel}/${accountId}`}
      about={account === undefined ? "An account of a channel." : <Status is={account.inbound} />}
      cli={`yard channels check ${channel}/${accountId}`}
      nats={`nats req yard.rpc.${callerName()}.channels.check '${JSON.stringify({ channel, accountId })}'`}
      actions={account !== undefined && <Check account={account} />}
    >
      {accounts.data === null && accounts.problem === null && <Loading />}
      {accounts.data === null && accounts.problem !== null && (
        <ProblemNote problem={accounts.problem} onRetry={accounts.reload} />
      )}
      {accounts.data !== null && account === undefined && (
        <div
          class="note wait"
          data-testid="problem"
          data-status={saidCode("problem", "unknown_account")}
        >
          <strong>There is no such account that you may use</strong>
          <p>
            <a href="/channels">Those that you may use</a>
          </p>
        </div>
      )}
      {account !== undefined && (
        <>
          <AccountFacts account={account} />
          <Target account={account} />
        </>
      )}
    </Page>
  );
}

function Check({ account: { channel, accountId } }: { account: ChannelAccount }) {
  const operation = "POST /channels/{channel}/{accountId}/check";
  const [isChecking, setChecking] = useState(false);
  if (!may(operation)) return null;
  const check = async (): Promise<void> => {
    setChecking(true);
    await act("", async () => {
      const { ok, identity, problem } = await client.request(operation, {
        path: { channel, accountId },
      });
      const as = identity === null ? "" : `, as ${identity}`;
      toast(
        ok
          ? { text: `The provider takes it${as}`, tone: "good" }
          : { text: problem ?? "The provider does not take it", tone: "bad" },
      );
    });
    setChecking(false);
  };
  return (
    <button
      type="button"
      class="button"
      disabled={isChecking}
      onClick={() => void check()}
      data-testid="check-account"
    >
      Check
    </button>
  );
}

function AccountFacts({ account }: { account: ChannelAccount }) {
  const { caller, agent, problem, capabilities } = account;
  const { actions, maxTextLength, media, effects, threads, reactions } = capabilities;
  return (
    <>
      {problem !== null && (
        <div class="note bad" data-testid="account-problem">
          <strong>It does not work as it should</strong>
          <p class="text">{problem}</p>
        </div>
      )}
      <dl class="facts" data-testid="capabilities">
        <Fact name="Owner">{caller}</Fact>
        <Fact name="Agent that answers">{agent ?? "none"}</Fact>
        <Fact name="Can">{actions.join(", ")}</Fact>
        <Fact name="Longest message">{numberText(maxTextLength)} characters</Fact>
        <Fact name="Attachments">
          {media === null
            ? "none"
            : `${media.kinds.join(", ")} up to ${numberText(Math.floor(media.maxBytes / 1_048_576))} MiB`}
        </Fact>
        <Fact name="Threads">{threads}</Fact>
        <Fact name="Reactions">{reactions}</Fact>
        {effects.length > 0 && <Fact name="Effects">{effects.join(", ")}</Fact>}
      </dl>
    </>
  );
}

/** The target is in the address. */
function Target({ account }: { account: ChannelAccount }) {
  const { channel, accountId, capabilities } = account;
  const canRead = capabilities.actions.includes("read") && may("POST /channels/messages/read");
  const canSend = capabilities.actions.includes("send") && may("POST /channels/messages");
  if (!canRead && !canSend) return null;
  const addressOf = (target: Address["target"]): Address => ({ channel, accountId, target });
  return <ChannelTarget addressOf={addressOf} canRead={canRead} canSend={canSend} />;
}

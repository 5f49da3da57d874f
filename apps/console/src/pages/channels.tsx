import type { ChannelAccount } from "@switchyard/client/operations";
import { useAgainEvery, useResource } from "../core/resource.ts";
import { callerName, may } from "../core/session.ts";
import { DataTable, type Column } from "../ui/data-table.tsx";
import { Page } from "../ui/page.tsx";
import { ResourceView } from "../ui/resource-view.tsx";
import { Status } from "../ui/status.tsx";
import { ChatLinks } from "./chat-links.tsx";

const COLUMNS: readonly Column<ChannelAccount>[] = [
  { title: "Account", cell: ({ channel, accountId }) => `${channel}/${accountId}` },
  { title: "Takes messages in", cell: ({ inbound }) => <Status is={inbound} /> },
  {
    title: "Can",
    isWide: true,
    isMain: true,
    cell: ({ problem, capabilities }) => problem ?? capabilities.actions.join(", "),
  },
  { title: "Agent", isWide: true, cell: ({ agent }) => agent ?? "–" },
  { title: "Owner", isWide: true, cell: ({ caller }) => caller },
];

/** The state of an account has no events. */
export const LOOK_AGAIN_MS = 10_000;

/** The accounts by which agents and the caller reach people. */
export function Channels() {
  const accounts = useResource("GET /channels/accounts", {});
  useAgainEvery(accounts, LOOK_AGAIN_MS);
  return (
    <Page
      title="Channels"
      about="Accounts through which agents talk to people: in chats, by mail, or in the browser."
      cli="yard channels list"
      nats={`nats req yard.rpc.${callerName()}.channels.accounts '{}'`}
    >
      <ResourceView
        of={accounts}
        empty={(data) =>
          data.accounts.length + data.problems.length > 0 ? null : (
            <>
              <p>There is no account that you may use.</p>
              <p class="quiet">
                Accounts are in <code>channels.json</code>, with the users of each.
              </p>
            </>
          )
        }
      >
        {(data) => (
          <>
            {data.problems.length > 0 && (
              <div class="note bad" data-testid="channel-problems">
                <strong>Not all of channels.json is in force</strong>
                {data.problems.map((problem) => (
                  <p key={problem} class="text">
                    {problem}
                  </p>
                ))}
              </div>
            )}
            <DataTable
              label="Accounts"
              testId="channel-accounts"
              columns={COLUMNS}
              rows={data.accounts}
              keyOf={({ channel, accountId }) => `${channel}/${accountId}`}
              hrefOf={({ channel, accountId }) => `/channels/${channel}/${accountId}`}
            />
          </>
        )}
      </ResourceView>
      {may("GET /chat-links") && <ChatLinks />}
    </Page>
  );
}

// Starts a run of a Switchyard agent and prints its answer: java -cp "lib/*" StartRun.java AGENT INPUT
//
// In lib/: io.nats:jnats, its dependencies, and org.json:json
import io.nats.client.Connection;
import io.nats.client.JetStreamApiException;
import io.nats.client.JetStreamManagement;
import io.nats.client.JetStreamSubscription;
import io.nats.client.Message;
import io.nats.client.Nats;
import io.nats.client.Options;
import io.nats.client.PullSubscribeOptions;
import io.nats.client.api.AckPolicy;
import io.nats.client.api.ConsumerConfiguration;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Set;
import java.util.UUID;
import org.json.JSONObject;

public final class StartRun {
  private static final Set<String> ENDS =
      Set.of("finished", "failed", "cancelled", "dead", "rejected");

  public static void main(String[] args) throws Exception {
    if (args.length != 2) {
      System.err.println("usage: java -cp \"lib/*\" StartRun.java AGENT INPUT");
      System.exit(2);
    }
    String user = System.getenv().getOrDefault("YARD_USER", "me");
    String url = System.getenv().getOrDefault("NATS_URL", "nats://127.0.0.1:4222");
    Options.Builder options = new Options.Builder().server(url);
    String seed = System.getenv("YARD_NATS_NKEY_FILE");
    if (seed != null) {
      // A user with a key reads replies at an inbox of its own and nowhere else.
      options.authHandler(Nats.staticCredentials(null, seedOf(seed))).inboxPrefix("_INBOX_" + user);
    }
    try (Connection nc = Nats.connect(options.build())) {
      String runId = "java-" + UUID.randomUUID(); // publishing it again is the same run
      byte[] command =
          new JSONObject().put("input", args[1]).put("runId", runId).toString().getBytes(StandardCharsets.UTF_8);
      nc.jetStream().publish("yard.cmd." + user + ".run.start." + args[0], command);

      // Events are read from the stream: a plain subscription also receives what other users have the server deliver to it.
      String consumer = makeConsumer(nc, user, "yard.evt.run." + user + "." + runId + ".*");
      PullSubscribeOptions reader = PullSubscribeOptions.fastBind("YARD_EVENTS", consumer);
      JetStreamSubscription events = nc.jetStream().subscribe(null, reader);
      while (true) {
        for (Message message : events.fetch(1, Duration.ofSeconds(20))) {
          String name = message.getSubject().substring(message.getSubject().lastIndexOf('.') + 1);
          System.err.println(name);
          if (!ENDS.contains(name)) continue;
          JSONObject event = new JSONObject(new String(message.getData(), StandardCharsets.UTF_8));
          System.out.println(name.equals("finished") ? event.getString("output") : event);
          nc.jetStreamManagement().deleteConsumer("YARD_EVENTS", consumer);
          System.exit(name.equals("finished") ? 0 : 1);
        }
      }
    }
  }

  /** A user's consumers are named {user}-1 to {user}-32: this takes the first name that no other program uses. */
  private static String makeConsumer(Connection nc, String user, String subject) throws Exception {
    JetStreamManagement manager = nc.jetStreamManagement();
    for (int number = 1; ; number++) {
      String name = user + "-" + number;
      try {
        manager.createConsumer(
            "YARD_EVENTS",
            ConsumerConfiguration.builder()
                .name(name)
                .filterSubject(subject)
                .ackPolicy(AckPolicy.None)
                .inactiveThreshold(Duration.ofSeconds(30))
                .build());
        return name;
      } catch (JetStreamApiException error) {
        if (error.getApiErrorCode() != 10148 || number == 32) throw error;
      }
    }
  }

  private static char[] seedOf(String file) throws java.io.IOException {
    return java.nio.file.Files.readString(java.nio.file.Path.of(file)).trim().toCharArray();
  }
}

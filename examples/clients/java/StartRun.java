// Starts a run of a Switchyard agent and prints its answer: java -cp "lib/*" StartRun.java AGENT INPUT
//
// In lib/: io.nats:jnats, its dependencies, and org.json:json
import io.nats.client.Connection;
import io.nats.client.Message;
import io.nats.client.Nats;
import io.nats.client.Options;
import io.nats.client.Subscription;
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
      Subscription events = nc.subscribe("yard.evt.run." + runId + ".*");
      byte[] command =
          new JSONObject().put("input", args[1]).put("runId", runId).toString().getBytes(StandardCharsets.UTF_8);
      nc.jetStream().publish("yard.cmd." + user + ".run.start." + args[0], command);

      while (true) {
        Message message = events.nextMessage(Duration.ZERO);
        String name = message.getSubject().substring(message.getSubject().lastIndexOf('.') + 1);
        System.err.println(name);
        if (!ENDS.contains(name)) continue;
        JSONObject event = new JSONObject(new String(message.getData(), StandardCharsets.UTF_8));
        System.out.println(name.equals("finished") ? event.getString("output") : event);
        System.exit(name.equals("finished") ? 0 : 1);
      }
    }
  }

  private static char[] seedOf(String file) throws java.io.IOException {
    return java.nio.file.Files.readString(java.nio.file.Path.of(file)).trim().toCharArray();
  }
}

import com.openai.client.OpenAIClient;
import com.openai.client.okhttp.OpenAIOkHttpClient;
import com.openai.core.http.StreamResponse;
import com.openai.errors.NotFoundException;
import com.openai.helpers.ChatCompletionAccumulator;
import com.openai.models.chat.completions.ChatCompletion;
import com.openai.models.chat.completions.ChatCompletionChunk;
import com.openai.models.chat.completions.ChatCompletionCreateParams;
import com.openai.models.responses.Response;
import com.openai.models.responses.ResponseCreateParams;
import com.openai.models.responses.ResponseStreamEvent;
import java.util.List;
import java.util.stream.Collectors;

/** The OpenAI API of the gateway (BASE, TOKEN) by OpenAI's client for Java: at once, as streams, in a form, and continued. */
public class Client {
  static final String ANSWER = "You said hello. The tool said: This is a simple text";

  public static class Step {
    public String explanation;
    public String output;
  }

  public static class Solution {
    public List<Step> steps;
    public String final_answer;
  }

  public static void main(String[] arguments) {
    OpenAIClient client =
        OpenAIOkHttpClient.builder()
            .baseUrl(System.getenv("BASE") + "/v1")
            .apiKey(System.getenv("TOKEN"))
            .maxRetries(0)
            .build();
    ChatCompletionCreateParams ask = ask("helper").build();

    ChatCompletion chat = client.chat().completions().create(ask);
    expect(chat.choices().get(0).message().content().orElse(""), ANSWER);
    expect(chat.choices().get(0).finishReason().asString(), "stop");

    ChatCompletionAccumulator whole = ChatCompletionAccumulator.create();
    try (StreamResponse<ChatCompletionChunk> stream = client.chat().completions().createStreaming(ask)) {
      stream.stream().forEach(whole::accumulate);
    }
    expect(whole.chatCompletion().choices().get(0).message().content().orElse(""), ANSWER);

    Solution solved =
        client
            .chat()
            .completions()
            .create(ask("solver").responseFormat(Solution.class).build())
            .choices()
            .get(0)
            .message()
            .content()
            .orElseThrow();
    expect(solved.final_answer + solved.steps.get(0).output, "4242");

    Response first = client.responses().create(response("hello").build());
    expect(textOf(first), ANSWER);
    Response next = client.responses().create(response("and now?").previousResponseId(first.id()).build());
    expect(textOf(next), "and now?");
    expect(textOf(client.responses().retrieve(first.id())), ANSWER);

    try (StreamResponse<ResponseStreamEvent> events = client.responses().createStreaming(response("hello").build())) {
      List<ResponseStreamEvent> all = events.stream().collect(Collectors.toList());
      expect(textOf(all.get(all.size() - 1).asCompleted().response()), ANSWER);
    }

    try {
      client.chat().completions().create(ask("nobody").build());
      throw new AssertionError("an unknown model has an answer");
    } catch (NotFoundException refused) {
      expect(refused.getMessage(), "nobody");
    }
    System.out.println("ok");
    // Threads of the client stay for a minute.
    System.exit(0);
  }

  static ChatCompletionCreateParams.Builder ask(String model) {
    return ChatCompletionCreateParams.builder().model(model).addUserMessage("hello");
  }

  static ResponseCreateParams.Builder response(String input) {
    return ResponseCreateParams.builder().model("helper").input(input);
  }

  static String textOf(Response response) {
    return response.output().stream()
        .flatMap(item -> item.message().stream())
        .flatMap(message -> message.content().stream())
        .flatMap(content -> content.outputText().stream())
        .map(text -> text.text())
        .collect(Collectors.joining());
  }

  static void expect(String text, String part) {
    if (!text.contains(part)) throw new AssertionError(text + " does not have " + part);
  }
}

import java.io.InputStream;
import java.net.Authenticator;
import java.net.HttpURLConnection;
import java.net.PasswordAuthentication;
import java.net.URI;
import java.net.URL;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.file.Files;
import java.nio.file.Path;

/**
 * An app that asks for one URL: Client HttpClient|HttpURLConnection URL [FILE]. It prints the body of the answer; with FILE it posts that.
 * Its proxy and its roots are those of the JVM; the properties proxy.user and proxy.password are what it tells a proxy that asks.
 */
public class Client {
    private static class OfProxy extends Authenticator {
        @Override
        protected PasswordAuthentication getPasswordAuthentication() {
            return new PasswordAuthentication(System.getProperty("proxy.user"), System.getProperty("proxy.password").toCharArray());
        }
    }

    public static void main(String[] arguments) throws Exception {
        byte[] body = arguments.length > 2 ? Files.readAllBytes(Path.of(arguments[2])) : null;
        Authenticator authenticator = System.getProperty("proxy.user") == null ? null : new OfProxy();
        byte[] answer = arguments[0].equals("HttpClient")
            ? byHttpClient(arguments[1], body, authenticator) : byHttpURLConnection(arguments[1], body, authenticator);
        System.out.write(answer);
        System.out.flush();
    }

    private static byte[] byHttpClient(String url, byte[] body, Authenticator authenticator) throws Exception {
        HttpClient.Builder builder = HttpClient.newBuilder();
        if (authenticator != null) builder.authenticator(authenticator);
        HttpRequest.Builder request = HttpRequest.newBuilder(URI.create(url));
        if (body != null) request.POST(BodyPublishers.ofByteArray(body));
        HttpResponse<byte[]> response = builder.build().send(request.build(), BodyHandlers.ofByteArray());
        if (response.statusCode() != 200) throw new Exception("status " + response.statusCode());
        return response.body();
    }

    private static byte[] byHttpURLConnection(String url, byte[] body, Authenticator authenticator) throws Exception {
        if (authenticator != null) Authenticator.setDefault(authenticator);
        HttpURLConnection connection = (HttpURLConnection) new URL(url).openConnection();
        if (body != null) {
            connection.setRequestMethod("POST");
            connection.setDoOutput(true);
            connection.setFixedLengthStreamingMode(body.length);
            connection.getOutputStream().write(body);
        }
        try (InputStream stream = connection.getInputStream()) {
            return stream.readAllBytes();
        }
    }
}

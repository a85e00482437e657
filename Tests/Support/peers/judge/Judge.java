import java.net.Socket;
import javax.net.ssl.SSLParameters;
import javax.net.ssl.SSLSocket;
import javax.net.ssl.SSLSocketFactory;

/**
 * Says of servers on this machine whether they are who they claim to be: Judge NAME PORT... A line each: `accepted`, or `refused` and the
 * reason. The roots are the JVM's.
 */
public class Judge {
    public static void main(String[] arguments) throws Exception {
        for (int at = 0; at < arguments.length; at += 2) {
            int port = Integer.parseInt(arguments[at + 1]);
            SSLSocketFactory factory = (SSLSocketFactory) SSLSocketFactory.getDefault();
            Socket below = new Socket("127.0.0.1", port);
            try (SSLSocket socket = (SSLSocket) factory.createSocket(below, arguments[at], port, true)) {
                SSLParameters parameters = socket.getSSLParameters();
                parameters.setEndpointIdentificationAlgorithm("HTTPS");
                socket.setSSLParameters(parameters);
                socket.startHandshake();
                System.out.println("accepted");
            } catch (Exception error) {
                System.out.println("refused " + String.valueOf(error).replace('\n', ' '));
            }
        }
    }
}

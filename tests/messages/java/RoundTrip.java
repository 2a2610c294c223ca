// Reads messages with the codecs of the Apache Kafka jars on the class path, and writes them again.
//
// Each line of the file named by the argument is: message name, version, bytes in hex. For each one line is printed:
// "ok NAME VERSION" if the bytes were read to their end and written again just so, "unknown NAME VERSION" if this
// release has no such message or version, "bad NAME VERSION REASON" for anything else.

import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.HexFormat;
import org.apache.kafka.common.protocol.ByteBufferAccessor;
import org.apache.kafka.common.protocol.Message;
import org.apache.kafka.common.protocol.ObjectSerializationCache;

public class RoundTrip {
    private static final String[] PACKAGES = {
        "org.apache.kafka.common.message.",
        "org.apache.kafka.common.metadata.",
        "org.apache.kafka.raft.generated.",
        "org.apache.kafka.coordinator.group.generated.",
        "org.apache.kafka.coordinator.transaction.generated.",
        "org.apache.kafka.coordinator.share.generated.",
    };

    public static void main(String[] arguments) throws Exception {
        try (var lines = Files.lines(Path.of(arguments[0]))) {
            lines.forEach(line -> {
                String[] fields = line.split("\t", -1);
                String name = fields[0] + " " + fields[1];
                System.out.println(judge(name, fields[0], Short.parseShort(fields[1]), HexFormat.of().parseHex(fields[2])));
            });
        }
    }

    private static String judge(String name, String className, short version, byte[] bytes) {
        try {
            Message message = create(className);
            if (message == null || version < message.lowestSupportedVersion() || version > message.highestSupportedVersion()) {
                return "unknown " + name;
            }
            ByteBuffer input = ByteBuffer.wrap(bytes);
            message.read(new ByteBufferAccessor(input), version);
            if (input.hasRemaining()) {
                return "bad " + name + " " + input.remaining() + " bytes were left";
            }
            ObjectSerializationCache cache = new ObjectSerializationCache();
            ByteBuffer output = ByteBuffer.allocate(message.size(cache, version));
            message.write(new ByteBufferAccessor(output), cache, version);
            return Arrays.equals(bytes, output.array()) ? "ok " + name : "bad " + name + " was written differently";
        } catch (Exception error) {
            return "bad " + name + " " + error;
        }
    }

    private static Message create(String className) throws ReflectiveOperationException {
        for (String prefix : PACKAGES) {
            // Requests and responses are generated as "...Data".
            for (String suffix : new String[] {"", "Data"}) {
                try {
                    Object made = Class.forName(prefix + className + suffix).getDeclaredConstructor().newInstance();
                    if (made instanceof Message) {
                        return (Message) made;
                    }
                } catch (ClassNotFoundException | NoSuchMethodException absent) {
                    continue;
                }
            }
        }
        return null;
    }
}

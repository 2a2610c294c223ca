// Replays metadata records with the classes of the Apache Kafka jars on the class path, and prints what the image is.
//
// Each line of the file named by the argument is a history: its records as hex, separated by blanks. For each one line
// is printed: the records of a snapshot of the image, likewise; or "error REASON".

import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import org.apache.kafka.common.protocol.ByteBufferAccessor;
import org.apache.kafka.common.protocol.ObjectSerializationCache;
import org.apache.kafka.image.MetadataDelta;
import org.apache.kafka.image.MetadataImage;
import org.apache.kafka.image.MetadataProvenance;
import org.apache.kafka.image.writer.ImageWriter;
import org.apache.kafka.image.writer.ImageWriterOptions;
import org.apache.kafka.metadata.MetadataRecordSerde;
import org.apache.kafka.server.common.ApiMessageAndVersion;

public class Replay {
    public static void main(String[] arguments) throws Exception {
        try (var lines = Files.lines(Path.of(arguments[0]))) {
            lines.forEach(line -> System.out.println(replayed(line)));
        }
    }

    private static String replayed(String line) {
        try {
            MetadataImage image = MetadataImage.EMPTY;
            for (String hex : line.split(" ")) {
                byte[] frame = HexFormat.of().parseHex(hex);
                var accessor = new ByteBufferAccessor(ByteBuffer.wrap(frame));
                // One by one: a topic that comes and goes within one delta leaves its configuration behind.
                MetadataDelta delta = new MetadataDelta.Builder().setImage(image).build();
                delta.replay(MetadataRecordSerde.INSTANCE.read(accessor, frame.length).message());
                image = delta.apply(MetadataProvenance.EMPTY);
            }
            var writer = new HexWriter();
            image.write(writer, new ImageWriterOptions.Builder(image).build());
            return String.join(" ", writer.frames);
        } catch (Exception error) {
            return "error " + error.toString().replace('\n', ' ');
        }
    }

    private static class HexWriter implements ImageWriter {
        private final List<String> frames = new ArrayList<>();

        @Override
        public void write(ApiMessageAndVersion record) {
            var sizes = new ObjectSerializationCache();
            var buffer = ByteBuffer.allocate(MetadataRecordSerde.INSTANCE.recordSize(record, sizes));
            MetadataRecordSerde.INSTANCE.write(record, sizes, new ByteBufferAccessor(buffer));
            frames.add(HexFormat.of().formatHex(buffer.array()));
        }

        @Override
        public void close(boolean complete) {
        }
    }
}

import java.io.*;
import java.nio.ByteBuffer;
import java.util.*;
import org.apache.kafka.common.protocol.ByteBufferAccessor;
import org.apache.kafka.coordinator.common.runtime.KRaftCoordinatorMetadataImage;
import org.apache.kafka.coordinator.group.Utils;
import org.apache.kafka.image.*;
import org.apache.kafka.metadata.MetadataRecordSerde;

/**
 * The metadata hashes of Apache Kafka: `java -cp 'JARS/*' Hashes.java < CASES`.
 *
 * Each line has the metadata records of a cluster as hex, separated by blanks. It prints the hash of a group that
 * subscribes to all of its topics.
 */
public final class Hashes {
    public static void main(String[] arguments) throws IOException {
        var lines = new BufferedReader(new InputStreamReader(System.in));
        for (String line; (line = lines.readLine()) != null; ) {
            var delta = new MetadataDelta.Builder().setImage(MetadataImage.EMPTY).build();
            for (String hex : line.split(" ")) {
                byte[] frame = HexFormat.of().parseHex(hex);
                var accessor = new ByteBufferAccessor(ByteBuffer.wrap(frame));
                delta.replay(MetadataRecordSerde.INSTANCE.read(accessor, frame.length).message());
            }
            var image = new KRaftCoordinatorMetadataImage(delta.apply(MetadataProvenance.EMPTY));
            var hashes = new HashMap<String, Long>();
            image.topicNames().forEach(name -> hashes.put(name, Utils.computeTopicHash(name, image)));
            System.out.println(Utils.computeGroupHash(hashes));
        }
    }
}
